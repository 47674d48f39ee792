package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inference-sweep/sweep/sweep"
)

// Observe asks the server what it is. What it does not say, or answers with an error, is absent: the only error is that
// ctx ended. Values are string, int64, float64 or []string, under the Obs keys.
func (s *Server) Observe(ctx context.Context) (map[string]any, error) {
	o := map[string]any{}
	s.observeVersion(ctx, o)
	s.observeModel(ctx, o)
	s.observeMetrics(ctx, o)
	if n, ok := s.roundTrip(ctx); ok {
		o[sweep.ObsRoundTripNS] = n
	}
	if len(s.Refused) > 0 {
		o[sweep.ObsRefusedFields] = slices.Clone(s.Refused)
	}
	if s.here() {
		if name, err := os.Hostname(); err == nil {
			o[sweep.ObsHost] = name
		}
		if s.cell.Contract.Hardware.Gpus > 0 {
			s.observeGPUs(ctx, o)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ask %s what it is: %w", s.Base, context.Cause(ctx))
	}
	return o, nil
}

// serverInfo is what is read of the documents in which servers describe themselves.
type serverInfo struct {
	Version   string `json:"version"`
	BuildInfo string `json:"build_info"`
	PageSize  int64  `json:"page_size"`
}

func (s *Server) observeVersion(ctx context.Context, o map[string]any) {
	for _, path := range slices.Compact([]string{s.Profile.Version, s.Profile.ServerInfo}) {
		var info serverInfo
		text, ok := s.get(ctx, path)
		if !ok || json.Unmarshal(text, &info) != nil {
			continue
		}
		version := info.Version
		if version == "" {
			version = info.BuildInfo
		}
		if _, known := o[sweep.ObsEngineVersion]; !known && version != "" {
			o[sweep.ObsEngineVersion] = version
		}
		if info.PageSize > 0 {
			o[sweep.ObsBlockSize] = info.PageSize
		}
		if version != "" {
			return
		}
	}
}

// modelEntry is one of the server's own list.
type modelEntry struct {
	ID      string   `json:"id"`
	Aliases []string `json:"aliases"`
	Root    string   `json:"root"`
	MaxLen  int64    `json:"max_model_len"`
	Meta    struct {
		Context int64 `json:"n_ctx"`
	} `json:"meta"`
}

func (s *Server) observeModel(ctx context.Context, o map[string]any) {
	var list struct {
		Data []modelEntry `json:"data"`
	}
	text, ok := s.get(ctx, s.Profile.Models)
	if !ok || json.Unmarshal(text, &list) != nil || len(list.Data) == 0 {
		return
	}
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID)
		ids = append(ids, m.Aliases...)
	}
	slices.Sort(ids)
	o[sweep.ObsModelAliases] = slices.Compact(ids)
	served := s.served(list.Data)
	if served == nil {
		return
	}
	o[sweep.ObsServedModel] = served.ID
	if served.Root != "" {
		o[sweep.ObsModelRoot] = served.Root
	}
	if n := max(served.MaxLen, served.Meta.Context); n > 0 {
		o[sweep.ObsMaxModelLen] = n
	}
}

// ModelNames lists the names that the cell's server, at a URL, says it serves; none where it does not say.
func ModelNames(ctx context.Context, c *sweep.PlanCell, d Deps) []string {
	s, err := newServer(c, d.withDefaults())
	if err != nil {
		return nil
	}
	defer s.transport.CloseIdleConnections()
	o := map[string]any{}
	s.observeModel(ctx, o)
	names, _ := o[sweep.ObsModelAliases].([]string)
	return names
}

// served is the entry that answers to the name that is asked for; where there is but one, it is that one.
func (s *Server) served(list []modelEntry) *modelEntry {
	for i, m := range list {
		if m.ID == s.Model || slices.Contains(m.Aliases, s.Model) {
			return &list[i]
		}
	}
	if len(list) == 1 {
		return &list[0]
	}
	return nil
}

func (s *Server) observeMetrics(ctx context.Context, o map[string]any) {
	if s.Profile.BlockTokens > 0 {
		o[sweep.ObsBlockSize] = s.Profile.BlockTokens
	}
	m, _ := s.metrics(ctx)
	if began, ok := m.processStart(); ok {
		o[sweep.ObsProcessStart] = began
	}
	for _, info := range m[s.Profile.CacheInfo] {
		if n, err := strconv.ParseInt(info.labels["block_size"], 10, 64); err == nil && n > 0 {
			o[sweep.ObsBlockSize] = n
		}
	}
}

// roundTrip is the shortest of a few answers to the cheapest question, in nanoseconds.
func (s *Server) roundTrip(ctx context.Context) (int64, bool) {
	path := s.Profile.Health
	if path == "" {
		path = s.Profile.Models
	}
	best := int64(-1)
	for range 3 {
		sent := time.Now()
		if _, ok := s.get(ctx, path); !ok {
			return 0, false
		}
		if took := time.Since(sent).Nanoseconds(); best < 0 || took < best {
			best = took
		}
	}
	return best, true
}

// tunnels are the programs that listen here for a server that is elsewhere.
var tunnels = []string{"ssh", "kubectl", "socat", "cloudflared", "tailscale"}

// here says that the server runs on this very host, so that this host's name and hardware are its own: it was launched
// here, or it is reached over the loopback address and the process that listens there is known and no tunnel. The
// embedded engine is on no hardware.
func (s *Server) here() bool {
	if s.Profile.Name == "sim" {
		return false
	}
	if !s.Launch.Attached {
		return s.process != nil && len(s.process.pids()) > 0
	}
	return s.listener() != 0
}

// listener is the process behind a loopback address, or 0 where that is not known or is a tunnel.
func (s *Server) listener() int {
	addr, err := netip.ParseAddrPort(strings.TrimPrefix(s.Base, "http://"))
	if err != nil || !addr.Addr().IsLoopback() {
		return 0
	}
	pid := portHolder(int(addr.Port()))
	line := commandLine(pid)
	for _, tunnel := range tunnels {
		if strings.Contains(line, tunnel) {
			return 0
		}
	}
	return pid
}
