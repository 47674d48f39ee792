package target

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/inference-sweep/sweep/sweep"
)

// gpu is one line of nvidia-smi.
type gpu struct {
	index, uuid, name, driver string
	bus                       string  // its PCI address, or empty
	powerLimit                float64 // watts, or 0
}

// observeGPUs tells the GPUs that the server uses: those on which its processes are, else those that its environment
// names, else all of this host where there are as many as the contract says. Of other GPUs on the host it says nothing.
func (s *Server) observeGPUs(ctx context.Context, o map[string]any) {
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	text, err := s.deps.Output(ctx, "nvidia-smi", "--query-gpu=index,uuid,name,driver_version,power.limit,pci.bus_id", "--format=csv,noheader,nounits")
	if err != nil {
		return
	}
	all := parseGPUs(string(text))
	if len(all) == 0 {
		return
	}
	o[sweep.ObsDriver] = all[0].driver
	if text, err := s.deps.Output(ctx, "nvidia-smi"); err == nil {
		if m := cudaVersion.FindSubmatch(text); m != nil {
			o[sweep.ObsCUDA] = string(m[1])
		}
	}
	used := s.usedGPUs(ctx, all)
	s.gpus = used
	if len(used) == 0 {
		return
	}
	var gpuNames []string
	limit := used[0].powerLimit
	for _, g := range used {
		gpuNames = append(gpuNames, g.name)
		if g.powerLimit != limit {
			limit = 0
		}
	}
	slices.Sort(gpuNames)
	o[sweep.ObsGPUNames] = strings.Join(slices.Compact(gpuNames), ", ")
	o[sweep.ObsGPUs] = int64(len(used))
	if limit > 0 {
		o[sweep.ObsPowerLimit] = limit
	}
}

var cudaVersion = regexp.MustCompile(`CUDA Version:\s*(\d+(?:\.\d+)*)`)

func parseGPUs(text string) []gpu {
	var out []gpu
	for line := range strings.Lines(text) {
		f := csvFields(line)
		if len(f) < 5 {
			continue
		}
		g := gpu{index: f[0], uuid: f[1], name: f[2], driver: f[3]}
		if len(f) > 5 {
			g.bus = f[5]
		}
		g.powerLimit, _ = strconv.ParseFloat(f[4], 64) // "[N/A]" where the card has none
		out = append(out, g)
	}
	return out
}

func csvFields(line string) []string {
	f := strings.Split(strings.TrimSpace(line), ",")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	return f
}

func (s *Server) usedGPUs(ctx context.Context, all []gpu) []gpu {
	if used := s.occupied(ctx, all); len(used) > 0 {
		return used
	}
	if visible, ok := s.cell.Server.Env["CUDA_VISIBLE_DEVICES"].(string); ok {
		wanted := csvFields(visible)
		return slices.DeleteFunc(slices.Clone(all), func(g gpu) bool {
			return !slices.ContainsFunc(wanted, func(w string) bool { return w == g.index || w != "" && strings.HasPrefix(g.uuid, w) })
		})
	}
	if int64(len(all)) == s.cell.Contract.Hardware.Gpus {
		return all
	}
	return nil
}

// occupied are the GPUs that hold memory of the server's processes. In a container their numbers may not be this one's:
// then there are none.
func (s *Server) occupied(ctx context.Context, all []gpu) []gpu {
	var pids []int
	if s.process != nil {
		pids = s.process.pids()
	} else if pid := s.listener(); pid != 0 {
		group, _ := syscall.Getpgid(pid)
		pids = descendants(group, "")
	}
	text, err := s.deps.Output(ctx, "nvidia-smi", "--query-compute-apps=pid,gpu_uuid", "--format=csv,noheader,nounits")
	if err != nil || len(pids) == 0 {
		return nil
	}
	uuids := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		f := csvFields(line)
		if len(f) < 2 {
			continue
		}
		if pid, err := strconv.Atoi(f[0]); err == nil && slices.Contains(pids, pid) {
			uuids[f[1]] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(g gpu) bool { return !uuids[g.uuid] })
}
