package plan

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDescriptions holds that each description is of a key, and that no tag has another for it.
func TestDescriptions(t *testing.T) {
	schema := string(Schema(nil))
	for field, text := range descriptions {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		require.Contains(t, schema, string(quoted), "%s is no field of a playbook", field)
	}
}
