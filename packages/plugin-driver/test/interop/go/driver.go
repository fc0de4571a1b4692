// The driver plugin: shell scripts as tasks. The calls and their shapes; the tasks themselves are in task.go.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
)

const configSchema = `{"spec":{"object":{"attributes":{"greeting":{"Attr":{"name":"greeting","type":"string"}}}}}}`
const taskSchema = `{"spec":{"object":{"attributes":{"script":{"Attr":{"name":"script","type":"string","required":true}},` +
	`"refuse":{"Attr":{"name":"refuse","type":"string"}}}}}}`

var (
	mutex sync.Mutex
	tasks = map[string]*task{}
	// greeting comes from the agent's plugin block and is shown as an attribute of the node.
	greeting = "none"
)

var errNotFound = errors.New("task not found for given id")

func field(m protoreflect.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

func failed(text string, recoverable bool) error {
	d, _ := files.FindDescriptorByName("hashicorp.nomad.plugins.shared.structs.RecoverableError")
	value, _ := proto.Marshal(message(d.(protoreflect.MessageDescriptor), fmt.Sprintf(`{"recoverable":%v}`, recoverable)))
	s := status.New(codes.FailedPrecondition, text).Proto()
	s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + string(d.FullName()), Value: value})
	return status.FromProto(s).Err()
}

func find(id string) *task {
	mutex.Lock()
	defer mutex.Unlock()
	return tasks[id]
}

func keep(id string, t *task) {
	mutex.Lock()
	defer mutex.Unlock()
	tasks[id] = t
}

func start(in *dynamicpb.Message) (string, error) {
	config := field(in, "task").Message()
	id := field(config, "id").String()
	if find(id) != nil {
		return "", failed("task is already started", false)
	}
	given, err := readStrings(field(config, "msgpack_driver_config").Bytes())
	if err != nil {
		return "", failed("failed to decode driver config: "+err.Error(), false)
	}
	if given["refuse"] != "" {
		return "", failed("boom", given["refuse"] == "true")
	}
	t, err := startTask(config, given["script"])
	if err != nil {
		return "", failed(err.Error(), true)
	}
	keep(id, t)
	back, _ := protojson.Marshal(config.Interface())
	state, _ := json.Marshal(t)
	return fmt.Sprintf(`{"handle":{"version":1,"state":"RUNNING","driverState":%q,"config":%s}}`, base64.StdEncoding.EncodeToString(state), back), nil
}

func recoverTask(in *dynamicpb.Message) error {
	handle := field(in, "handle").Message()
	id := field(field(handle, "config").Message(), "id").String()
	if find(id) != nil {
		return nil
	}
	t := &task{}
	if err := json.Unmarshal(field(handle, "driver_state").Bytes(), t); err != nil {
		return err
	}
	keep(id, t)
	return nil
}

func answer(ctx context.Context, name string, in *dynamicpb.Message) (string, error) {
	switch name {
	case "PluginInfo":
		return `{"type":"DRIVER","pluginApiVersions":["v0.1.0"],"pluginVersion":"0.1.0","name":"interop-go"}`, nil
	case "ConfigSchema":
		return configSchema, nil
	case "SetConfig":
		given, err := readStrings(field(in, "msgpack_config").Bytes())
		if err != nil {
			return "", err
		}
		if given["greeting"] != "" {
			mutex.Lock()
			greeting = given["greeting"]
			mutex.Unlock()
		}
		return `{}`, nil
	case "TaskConfigSchema":
		return taskSchema, nil
	case "Capabilities":
		return `{"capabilities":{"sendSignals":true,"exec":true,"networkIsolationModes":["HOST","GROUP"]}}`, nil
	case "StartTask":
		return start(in)
	case "RecoverTask":
		return `{}`, recoverTask(in)
	case "Init", "Shutdown":
		return `{}`, nil
	case "CreateNetwork", "DestroyNetwork":
		return "", status.Error(codes.Unimplemented, name)
	}
	id := field(in, "task_id").String()
	t := find(id)
	if t == nil {
		return "", errNotFound
	}
	switch name {
	case "WaitTask":
		return t.wait(ctx)
	case "StopTask":
		timeout := field(in, "timeout").Message()
		ns := field(timeout, "seconds").Int()*int64(time.Second) + field(timeout, "nanos").Int()
		return `{}`, t.stop(time.Duration(ns), field(in, "signal").String())
	case "SignalTask":
		return `{}`, t.signal(field(in, "signal").String())
	case "DestroyTask":
		if t.ended() == nil {
			if !field(in, "force").Bool() {
				return "", errors.New("task still runs")
			}
			if err := t.stop(0, ""); err != nil {
				return "", err
			}
		}
		mutex.Lock()
		delete(tasks, id)
		mutex.Unlock()
		_ = os.Remove(t.Record)
	case "InspectTask":
		return fmt.Sprintf(`{"task":{"id":%q,"state":"RUNNING","startedAt":"2026-01-01T00:00:00Z","completedAt":"2026-01-01T00:00:00Z","result":{}},"driver":{}}`, id), nil
	default:
		return "", status.Error(codes.Unimplemented, name)
	}
	return `{}`, nil
}

func register(s *grpc.Server) {
	for _, name := range []string{base, driver} {
		svc := service(name)
		desc := grpc.ServiceDesc{ServiceName: name, HandlerType: (*any)(nil)}
		for i := 0; i < svc.Methods().Len(); i++ {
			m := svc.Methods().Get(i)
			if m.IsStreamingServer() {
				desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: string(m.Name()), ServerStreams: true, ClientStreams: m.IsStreamingClient(), Handler: stream(m)})
				continue
			}
			desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: string(m.Name()), Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				in := dynamicpb.NewMessage(m.Input())
				if err := decode(in); err != nil {
					return nil, err
				}
				out, err := answer(ctx, string(m.Name()), in)
				if err != nil {
					return nil, err
				}
				return message(m.Output(), out), nil
			}})
		}
		s.RegisterService(&desc, nil)
	}
}

func stream(m protoreflect.MethodDescriptor) grpc.StreamHandler {
	return func(_ any, s grpc.ServerStream) error {
		in := dynamicpb.NewMessage(m.Input())
		if err := s.RecvMsg(in); err != nil {
			return err
		}
		send := func(text string) error { return s.SendMsg(message(m.Output(), text)) }
		switch string(m.Name()) {
		case "Fingerprint":
			mutex.Lock()
			said := greeting
			mutex.Unlock()
			_ = send(fmt.Sprintf(`{"health":"HEALTHY","healthDescription":"Healthy","attributes":{"driver.interop":{"boolVal":true},"driver.interop.greeting":{"stringVal":%q}}}`, said))
		case "TaskStats":
			t := find(field(in, "task_id").String())
			if t == nil {
				return errNotFound
			}
			interval := field(field(in, "collection_interval").Message(), "seconds").Int()*1000 + field(field(in, "collection_interval").Message(), "nanos").Int()/1e6
			return t.stats(s.Context(), time.Duration(max(interval, 10))*time.Millisecond, send)
		case "ExecTaskStreaming":
			return execStream(m, s, in, send)
		}
		<-s.Context().Done()
		return nil
	}
}

// execStream runs one command beside the task, without a terminal.
func execStream(m protoreflect.MethodDescriptor, s grpc.ServerStream, first *dynamicpb.Message, send func(string) error) error {
	setup := field(first, "setup").Message()
	t := find(field(setup, "task_id").String())
	if t == nil {
		return errNotFound
	}
	if field(setup, "tty").Bool() {
		return status.Error(codes.Unimplemented, "no terminals here")
	}
	words := []string{}
	for i := 0; i < field(setup, "command").List().Len(); i++ {
		words = append(words, field(setup, "command").List().Get(i).String())
	}
	if len(words) == 0 {
		return errors.New("exec: empty command")
	}
	c := exec.CommandContext(s.Context(), words[0], words[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Dir, c.Env = t.Folder, t.Env
	stdin, _ := c.StdinPipe()
	stdout, _ := c.StdoutPipe()
	stderr, _ := c.StderrPipe()
	if err := c.Start(); err != nil {
		return err
	}
	go func() {
		defer stdin.Close()
		for {
			in := dynamicpb.NewMessage(m.Input())
			if s.RecvMsg(in) != nil {
				return
			}
			operation := field(in, "stdin").Message()
			if _, err := stdin.Write(field(operation, "data").Bytes()); err != nil || field(operation, "close").Bool() {
				return
			}
		}
	}()
	var writing sync.Mutex
	var pumps sync.WaitGroup
	for name, source := range map[string]io.Reader{"stdout": stdout, "stderr": stderr} {
		pumps.Add(1)
		go func() {
			defer pumps.Done()
			buffer := make([]byte, 1024)
			for {
				n, err := source.Read(buffer)
				operation := fmt.Sprintf(`{%q:{"data":%q,"close":%v}}`, name, base64.StdEncoding.EncodeToString(buffer[:n]), err != nil)
				writing.Lock()
				_ = send(operation)
				writing.Unlock()
				if err != nil {
					return
				}
			}
		}()
	}
	pumps.Wait()
	_ = c.Wait()
	code, signal := exitOf(c.ProcessState)
	return send(fmt.Sprintf(`{"exited":true,"result":{"exitCode":%d,"signal":%d}}`, code, signal))
}

func serve() {
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: os.Stderr, JSONFormat: true})
	logger.Info("interop plugin up", "size", 3)
	plugin.Serve(&plugin.ServeConfig{HandshakeConfig: handshake, VersionedPlugins: plugins, GRPCServer: plugin.DefaultGRPCServer, Logger: logger})
}
