package engine

import (
	"encoding/json"
	"fmt"
)

// checkLeak returns an error if the unit's turns show a secret: agents print their environment, and recordings are
// committed.
func (a *attempt) checkLeak() error {
	for _, t := range a.turns {
		for _, e := range t.Events {
			body, err := json.Marshal(e.Body)
			if err != nil {
				return err
			}
			if name, found := a.secrets.Contains(body); found {
				return leakError(name)
			}
		}
		for _, c := range t.Delta.Changes {
			for _, data := range [][]byte{c.Data, []byte(c.Path), []byte(c.Target)} {
				if name, found := a.secrets.Contains(data); found {
					return leakError(name)
				}
			}
		}
	}
	return nil
}

func leakError(name string) error {
	return fmt.Errorf("leak: the session shows the value of %s; no cassette was written", name)
}
