// Package modelserver stands in for a language model in tests of real coding agents: an HTTP server on loopback that
// speaks Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini's generateContent, and says what a
// script tells it to say. Model judges ask it too, by Chat Completions.
//
// It is a test double for the model, never for the agent: the agent's own loop, tools, permission questions and
// protocol are the real ones, which is what a cassette should record. The server never guesses. A request that no
// script answers is refused with a 4xx status that says why, and is kept for [Server.Err], so that a session that left
// its script cannot pass for a good one.
package modelserver
