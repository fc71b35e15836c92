package agent

// geminiFiles returns Gemini's settings, which it looks for in ~/.gemini and completes with how it authenticated.
func geminiFiles(Preset) ([]File, error) {
	const settings = `{
  "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false}
}
`
	return []File{{Path: ".gemini/settings.json", Data: []byte(settings)}}, nil
}
