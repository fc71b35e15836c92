// Package secret keeps secrets out of everything that is written.
//
//	var secrets secret.Set
//	secrets.AddEnvironment(os.Environ())
//	secrets.Add("ANTHROPIC_AUTH_TOKEN", token)
//	err := secrets.WriteFile(path, data, 0o644)
//	log := secrets.Lines(file)
//	defer log.Close()
//
// What is masked becomes [REDACTED:NAME], with the name of the secret, or [REDACTED:key] for what has the shape of a
// well-known kind of key, even if it was not named.
//
// A secret is found as it is, each line of a multi-line one separately too, and as it looks in JSON (also in JSON
// inside a JSON string), in XML and HTML, in Go's %q, in URLs, in base64 whatever is encoded before and after it, and
// in hex. It is not found compressed, encrypted, reversed, in pieces, or in base64 broken into lines.
//
// Where secrets overlap, one placeholder stands for all the text that they cover, with the name of the one that begins
// first and, of those, the longest. So nothing is left of a secret that overlaps another one or is inside it. Masking
// again leaves placeholders unchanged.
package secret
