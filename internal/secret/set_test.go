package secret_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

func TestString(t *testing.T) {
	var s secret.Set
	s.Add("API_TOKEN", "abcd/efgh+12\"34")
	assert.Equal(t, "x[REDACTED:API_TOKEN]y", s.String("xabcd/efgh+12\"34y"))
	assert.Equal(t, `{"a":"x[REDACTED:API_TOKEN]y"}`, string(s.JSON([]byte(`{"a":"xabcd\/efgh\u002b12\"34y"}`))))
}
