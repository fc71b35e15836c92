package fieldaccuracy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each layout is unambiguous: it gives the day that was written, in every month.
func TestLayouts(t *testing.T) {
	for _, layout := range layouts {
		for day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == 2024; day = day.AddDate(0, 0, 5) {
			text := day.Format(layout)
			got, err := parseDay(text, layouts)
			require.NoError(t, err, text)
			require.True(t, got.Equal(day), "%s as %s", text, got)
		}
	}
}

func FuzzParseDay(f *testing.F) {
	for _, text := range []string{
		"2025-01-15", "15-JAN-2025", "Jan 5, 2025", "2025-01-15T00:00:00+14:00", "01/02/2025", "0000-00-00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		day, err := parseDay(text, layouts)
		if err != nil {
			return
		}
		again, err := parseDay(day.Format(iso), layouts)
		require.NoError(t, err)
		require.True(t, again.Equal(day))
	})
}

func FuzzLayoutOf(f *testing.F) {
	for _, format := range []string{
		"DD.MM.YYYY", "MMMM D, YYYY", "YYYYMMDD", "DMYYYY", "D.MM.YYYY", "DDDMYYYY", " M D YYYY",
	} {
		f.Add(format)
	}
	f.Fuzz(func(t *testing.T, format string) {
		layout, err := layoutOf(format)
		if err != nil {
			return
		}
		for month := time.January; month <= time.December; month++ {
			day := time.Date(2025, month, 9, 0, 0, 0, 0, time.UTC)
			got, err := parseDay(day.Format(layout), []string{layout})
			require.NoError(t, err, format)
			require.True(t, got.Equal(day), "%s: %s as %s", format, day.Format(layout), got)
		}
	})
}
