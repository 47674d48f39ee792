package sweep

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// BaseURL is the base that a URL target means: a trailing slash or /v1 is dropped. An error is a *PlanError, and prints
// nothing of a password or a key that the URL may hold.
func BaseURL(target string) (string, error) {
	refuse := func(message, hint string) (string, error) { return "", &PlanError{Message: message, Hint: hint} }
	u, err := url.Parse(target)
	switch {
	case err == nil && u.User != nil, err != nil && strings.Contains(target, "@"):
		return refuse("a URL with a user or a password in it would be recorded", "name the key as server.key")
	case err != nil:
		if wrong, ok := errors.AsType[*url.Error](err); ok {
			err = wrong.Err
		}
		return refuse("is no URL: "+strings.TrimPrefix(err.Error(), "net/url: "), "write http://host:port, or http://[::1]:port")
	case u.Hostname() == "":
		return refuse("names no host", "write http://host:port")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(target, "#"):
		return refuse("is more than a base URL", "leave out what follows the path")
	case !isPort(u):
		return refuse("names no port that there is", "ports go from 1 to 65535")
	}
	u.Path = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1"), "/")
	return u.String(), nil
}

func isPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.Atoi(u.Port())
	return err == nil && n >= 1 && n <= 65535
}
