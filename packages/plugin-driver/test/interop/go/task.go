// Tasks that outlive the plugin: a shell waits for the script and leaves its exit code in a file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const supervisor = `trap : HUP INT QUIT USR1 USR2 TERM
/bin/sh -c "$2"
c=$?
printf '%s\n' "$c" >"$1.tmp" && mv -f "$1.tmp" "$1"
exit "$c"`

// task is also what the host keeps as driver state.
type task struct {
	Pid     int
	Started string
	Record  string
	Folder  string
	Env     []string
}

func startTask(config protoreflect.Message, script string) (*task, error) {
	id := field(config, "id").String()
	folder := filepath.Join(field(config, "alloc_dir").String(), field(config, "name").String())
	if _, err := os.Stat(folder); err != nil {
		return nil, err
	}
	t := &task{Record: filepath.Join(folder, ".exit-"+filepath.Base(id)), Folder: folder, Env: []string{}}
	for _, name := range []string{"device_env", "env"} {
		field(config, name).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			t.Env = append(t.Env, k.String()+"="+v.String())
			return true
		})
	}
	c := exec.Command("/bin/sh", "-c", supervisor, "sh", t.Record, script)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Dir, c.Env = folder, t.Env
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			_ = f.Close()
		}
	}()
	for _, name := range []string{"stdout_path", "stderr_path"} {
		path := field(config, name).String()
		if path == "" {
			path = "/dev/null"
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		opened = append(opened, f)
	}
	c.Stdout, c.Stderr = opened[0], opened[1]
	if err := c.Start(); err != nil {
		return nil, err
	}
	t.Pid, t.Started = c.Process.Pid, startedAt(c.Process.Pid)
	go func() { _ = c.Wait() }()
	return t, nil
}

// stat gives the fields of /proc/<pid>/stat after the command's name: index 0 is the state.
func stat(pid int) []string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
}

func startedAt(pid int) string {
	if f := stat(pid); len(f) > 19 && f[0] != "Z" {
		return f[19]
	}
	return ""
}

func (t *task) alive() bool { return t.Started != "" && startedAt(t.Pid) == t.Started }

type end struct{ code, signal int }

func (t *task) recorded() *end {
	raw, err := os.ReadFile(t.Record)
	if err != nil {
		return nil
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return nil
	}
	if code > 128 && code <= 192 {
		return &end{code: code, signal: code - 128}
	}
	return &end{code: code}
}

// ended is nil while the task runs.
func (t *task) ended() *end {
	if e := t.recorded(); e != nil || t.alive() {
		return e
	}
	if e := t.recorded(); e != nil {
		return e
	}
	return &end{code: 137, signal: 9}
}

func (t *task) wait(ctx context.Context) (string, error) {
	for {
		if e := t.ended(); e != nil {
			return fmt.Sprintf(`{"result":{"exitCode":%d,"signal":%d}}`, e.code, e.signal), nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(30 * time.Millisecond):
		}
	}
}

var signals = map[string]syscall.Signal{
	"": syscall.SIGINT, "SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP,
	"SIGUSR1": syscall.SIGUSR1, "SIGUSR2": syscall.SIGUSR2, "SIGKILL": syscall.SIGKILL,
}

func (t *task) signal(name string) error {
	number, known := signals[name]
	if !known {
		return errors.New("unknown signal " + name)
	}
	if !t.alive() {
		return nil
	}
	return syscall.Kill(-t.Pid, number)
}

func (t *task) stop(timeout time.Duration, name string) error {
	if timeout > 0 {
		if err := t.signal(name); err != nil {
			return err
		}
		for over := time.Now().Add(timeout); time.Now().Before(over); time.Sleep(20 * time.Millisecond) {
			if t.ended() != nil {
				return nil
			}
		}
	}
	_ = t.signal("SIGKILL")
	for t.ended() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// usage sums what the processes of the task's session use: clock ticks and resident pages.
func (t *task) usage() (ticks, pages int64) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if f := stat(pid); len(f) > 21 && f[3] == strconv.Itoa(t.Pid) {
			for _, i := range []int{11, 12} {
				n, _ := strconv.ParseInt(f[i], 10, 64)
				ticks += n
			}
			n, _ := strconv.ParseInt(f[21], 10, 64)
			pages += n
		}
	}
	return ticks, pages
}

func (t *task) stats(ctx context.Context, interval time.Duration, send func(string) error) error {
	before, _ := t.usage()
	at := time.Now()
	for t.ended() == nil {
		ticks, pages := t.usage()
		percent := float64(max(ticks-before, 0)) / max(time.Since(at).Seconds(), 0.01)
		before, at = ticks, time.Now()
		sample := fmt.Sprintf(`{"stats":{"timestamp":%q,"aggResourceUsage":{"cpu":{"percent":%f,"measuredFields":["PERCENT"]},"memory":{"rss":"%d","measuredFields":["RSS"]}}}}`,
			at.UTC().Format(time.RFC3339Nano), percent, pages*int64(os.Getpagesize()))
		if err := send(sample); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
	}
	return nil
}

func exitOf(state *os.ProcessState) (code, signal int) {
	ws := state.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal()), int(ws.Signal())
	}
	return ws.ExitStatus(), 0
}

// readStrings reads a msgpack map of strings, which is all that our schemas have. Nulls are left out.
func readStrings(raw []byte) (map[string]string, error) {
	out := map[string]string{}
	if len(raw) == 0 {
		return out, nil
	}
	at := 0
	fail := errors.New("a map of strings is expected")
	text := func() (string, bool, error) {
		if at >= len(raw) {
			return "", false, fail
		}
		kind, size, head := raw[at], 0, 1
		switch {
		case kind == 0xc0:
			at++
			return "", false, nil
		case kind&0xe0 == 0xa0:
			size = int(kind & 0x1f)
		case kind == 0xd9 && at+1 < len(raw):
			size, head = int(raw[at+1]), 2
		case kind == 0xda && at+2 < len(raw):
			size, head = int(raw[at+1])<<8|int(raw[at+2]), 3
		default:
			return "", false, fail
		}
		if at+head+size > len(raw) {
			return "", false, fail
		}
		value := string(raw[at+head : at+head+size])
		at += head + size
		return value, true, nil
	}
	if raw[0]&0xf0 != 0x80 {
		return nil, fail
	}
	at = 1
	for n := int(raw[0] & 0x0f); n > 0; n-- {
		key, _, err := text()
		if err != nil {
			return nil, err
		}
		value, given, err := text()
		if err != nil {
			return nil, err
		}
		if given {
			out[key] = value
		}
	}
	return out, nil
}
