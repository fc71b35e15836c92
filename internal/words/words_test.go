package words_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/words"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"blanks only", " \t ", nil},
		{"one word", "go", []string{"go"}},
		{"blanks around and between", "  go \t test  ./... ", []string{"go", "test", "./..."}},
		{"single quotes keep everything", `a 'b  "$x" \ ; c' d`, []string{"a", `b  "$x" \ ; c`, "d"}},
		{"double quotes", `a "b  'c' | d"`, []string{"a", "b  'c' | d"}},
		{"escapes in double quotes", `"\$ \" \\ ` + "\\`" + `"`, []string{"$ \" \\ `"}},
		{"other backslashes in double quotes stay", `"\n\a"`, []string{`\n\a`}},
		{"backslash outside quotes", `a\ b \' \\ \; \|\|`, []string{"a b", "'", `\`, ";", "||"}},
		{"backslash before a multi-byte character", `\éa`, []string{"éa"}},
		{"empty words", `a '' "" b`, []string{"a", "", "", "b"}},
		{"adjacent parts join", `-run='^Test A$'"/x"\ y`, []string{"-run=^Test A$/x y"}},
		{
			"nothing is expanded", `$HOME ~ *.go {a,b} $(x) # !x`,
			[]string{"$HOME", "~", "*.go", "{a,b}", "$(x)", "#", "!x"},
		},
		{"quoted operators are text", `'&&' "||" \> 'a;b'`, []string{"&&", "||", ">", "a;b"}},
		{"placeholder is one piece", `x${{ task.title }}y ${{a}}`, []string{"x${{ task.title }}y", "${{a}}"}},
		{"quoted placeholder", `"${{ a }} b" '${{ c }}'`, []string{"${{ a }} b", "${{ c }}"}},
		{"no-break space is text", "a\u00a0b", []string{"a\u00a0b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := words.Split(tt.in)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestSplitErrors(t *testing.T) {
	tests := []struct {
		name, in string
		err      error
		text     string
		column   int
	}{
		{"and", "a && b", words.ErrOperator, "&&", 3},
		{"or", "a || b", words.ErrOperator, "||", 3},
		{"pipe", "a | b", words.ErrOperator, "|", 3},
		{"semicolon", "a ; b", words.ErrOperator, ";", 3},
		{"semicolon without blanks", "a;b", words.ErrOperator, ";", 2},
		{"output", "a > b", words.ErrOperator, ">", 3},
		{"output without blanks", "a 2>b", words.ErrOperator, ">", 4},
		{"input", "a < b", words.ErrOperator, "<", 3},
		{"background", "a &", words.ErrOperator, "&", 3},
		{"after characters of several bytes", "éé ;", words.ErrOperator, ";", 4},
		{"single quote", "a 'b", words.ErrQuote, "'", 3},
		{"double quote", `a "b`, words.ErrQuote, `"`, 3},
		{"escaped end of a double quote", `"a\"`, words.ErrQuote, `"`, 1},
		{"backslash at the end", `a \`, words.ErrBackslash, `\`, 3},
		{"newline", "a\nb", words.ErrNewline, "\n", 2},
		{"newline at the end", "a\n", words.ErrNewline, "\n", 2},
		{"quoted newline", "'a\nb'", words.ErrNewline, "\n", 3},
		{"carriage return", "a\rb", words.ErrNewline, "\r", 2},
		{"NUL", "a\x00b", words.ErrNUL, "\x00", 2},
		{"unterminated placeholder", "a ${{ b }", words.ErrPlaceholder, "${{", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := words.Split(tt.in)
			require.ErrorIs(t, err, tt.err)
			var e *words.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, tt.text, e.Text)
			assert.Equal(t, tt.column, e.Column)
		})
	}
}

func TestQuote(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "./a-b_c/D:9@1%+,=.go", "./a-b_c/D:9@1%+,=.go"},
		{"empty", "", "''"},
		{"blank", "my plays/q.yaml", "'my plays/q.yaml'"},
		{"variable", "$HOME", "'$HOME'"},
		{"single quote", "it's", `'it'\''s'`},
		{"a command's path in zsh", "=ls", "'=ls'"},
		{"assignment, which no first word of ours is", "a=b", "a=b"},
		{"newline", "a\nb", "'a\nb'"},
		{"tilde", "~", "'~'"},
		{"beyond ASCII", "é", "'é'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, words.Quote(tt.in)) })
	}
	assert.Equal(t, "a 'b c' ''", words.Join("a", "b c", ""))
	assert.Empty(t, words.Join())
}

// FuzzSplit checks that words joined again split into the same words, and that errors point into the text.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", `a 'b c' "d\"" e\ f`, "a && b", "a ${{ b }}c", `'`, "a\nb", "é\\é", "''"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := words.Split(s)
		if err != nil {
			var e *words.Error
			require.ErrorAs(t, err, &e)
			require.GreaterOrEqual(t, e.Column, 1)
			require.LessOrEqual(t, e.Column, len([]rune(s)))
			return
		}
		again, err := words.Split(words.Join(got...))
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}
