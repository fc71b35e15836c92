package engine

import (
	"encoding/json"
	"fmt"
)

// checkLeak returns an error if a recording of the unit would show a secret: agents print their environment, and
// recordings are committed.
func (a *attempt) checkLeak() error {
	said := []any{a.session.Identity().Agent} // it is called as it calls itself
	for _, t := range a.session.Turns() {
		for _, e := range t.Events {
			said = append(said, e.Body)
		}
		for _, c := range t.Delta.Changes {
			for _, data := range [][]byte{c.Data, []byte(c.Path), []byte(c.Target)} {
				if name, found := a.secrets.Contains(data); found {
					return leakError(name)
				}
			}
		}
	}
	for _, v := range said {
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if name, found := a.secrets.Contains(data); found {
			return leakError(name)
		}
	}
	return nil
}

func leakError(name string) error {
	return fmt.Errorf("leak: the session shows the value of %s; no cassette was written", name)
}
