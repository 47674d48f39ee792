package sweep_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/inference-sweep/sweep/sweep"
)

func TestBaseURL(t *testing.T) {
	for target, want := range map[string]string{
		"http://h:8000":                "http://h:8000",
		"http://h:8000/":               "http://h:8000",
		"http://h:8000/v1":             "http://h:8000",
		"https://h/proxy/v1/":          "https://h/proxy",
		"http://[::1]:8000/v1":         "http://[::1]:8000",
		"http://[::1]/v1":              "http://[::1]",
		"http://h/v1/engines":          "http://h/v1/engines",
		"http://h/a@b":                 "http://h/a@b",
		"http://user:secret@h:8000":    "",
		"http://secret@h":              "",
		"http://user:secret@h:99999":   "",
		"http://user:secret/secret@h":  "",
		"http://user:sec ret@h/secret": "",
		"http://user:secret@":          "",
		"http://h/?a=b":                "",
		"http://h/?":                   "",
		"http://h/#a":                  "",
		"http://h/#":                   "",
		"http:///v1":                   "",
		"http://:80":                   "",
		"http://127.0.0.1:99999":       "",
		"http://127.0.0.1:0":           "",
		"http://h:":                    "",
		"http://h:port":                "",
		"http://a b":                   "",
		"http://::1:19405":             "",
		"http://h\n":                   "",
	} {
		got, err := sweep.BaseURL(target)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", target, got, err)
		}
		if err == nil {
			continue
		}
		if p, ok := errors.AsType[*sweep.PlanError](err); !ok || p.Hint == "" || strings.Contains(p.Message, "\n") {
			t.Errorf("%q: %v does not say on one line what to do", target, err)
		}
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "ret@") {
			t.Errorf("%v tells the password", err)
		}
	}
}
