// Our own program on the real go-plugin: with the magic cookie it is a driver plugin, without it a host for one.
// Messages are dynamic, from the descriptors of ../../../proto, so that no generated code is needed.
package main

import (
	"context"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
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
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
)

//go:embed driver.binpb
var descriptors []byte

var files = func() *protoregistry.Files {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(descriptors, &set); err != nil {
		panic(err)
	}
	out, err := protodesc.NewFiles(&set)
	if err != nil {
		panic(err)
	}
	return out
}()

const (
	base   = "hashicorp.nomad.plugins.base.proto.BasePlugin"
	driver = "hashicorp.nomad.plugins.drivers.proto.Driver"
)

var handshake = plugin.HandshakeConfig{
	ProtocolVersion:  2,
	MagicCookieKey:   "NOMAD_PLUGIN_MAGIC_COOKIE",
	MagicCookieValue: "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
}

func service(name string) protoreflect.ServiceDescriptor {
	d, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		panic(err)
	}
	return d.(protoreflect.ServiceDescriptor)
}

func method(svc, name string) protoreflect.MethodDescriptor {
	return service(svc).Methods().ByName(protoreflect.Name(name))
}

// message fills a dynamic message from proto3 JSON.
func message(d protoreflect.MessageDescriptor, text string) *dynamicpb.Message {
	m := dynamicpb.NewMessage(d)
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		panic(err)
	}
	return m
}

// text is proto3 JSON without the random blanks of protojson.
func text(m proto.Message) any {
	raw, _ := protojson.Marshal(m)
	var out any
	_ = json.Unmarshal(raw, &out)
	return out
}

type connPlugin struct{ plugin.NetRPCUnsupportedPlugin }

func (connPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	register(s)
	return nil
}
func (connPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}

var plugins = map[int]plugin.PluginSet{2: {"driver": connPlugin{}}}

func main() {
	if os.Getenv(handshake.MagicCookieKey) != "" {
		serve()
		return
	}
	host(os.Args[1], os.Args[2], os.Args[3])
}

// ---- host

func report(key string, value any) {
	line, _ := json.Marshal(map[string]any{key: value})
	fmt.Println(string(line))
}

func call(c *grpc.ClientConn, svc, name, request string) (any, error) {
	m := method(svc, name)
	out := dynamicpb.NewMessage(m.Output())
	err := c.Invoke(context.Background(), "/"+svc+"/"+name, message(m.Input(), request), out)
	return text(out), err
}

func failure(err error) any {
	s := status.Convert(err)
	details := []string{}
	for _, d := range s.Proto().GetDetails() {
		details = append(details, d.TypeUrl+" "+hex.EncodeToString(d.Value))
	}
	return map[string]any{"code": s.Code().String(), "message": s.Message(), "details": details}
}

func must(key string, value any, err error) {
	if err != nil {
		report(key, failure(err))
		return
	}
	report(key, value)
}

func first(c *grpc.ClientConn, name, request string, wait time.Duration) (any, error) {
	m := method(driver, name)
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+driver+"/"+name)
	if err != nil {
		return nil, err
	}
	if err = s.SendMsg(message(m.Input(), request)); err != nil {
		return nil, err
	}
	_ = s.CloseSend()
	out := dynamicpb.NewMessage(m.Output())
	err = s.RecvMsg(out)
	return text(out), err
}

func host(exe, allocDir, config string) {
	logs := &lockedBuffer{}
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		VersionedPlugins: plugins,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Cmd:              exec.Command(exe),
		Logger:           hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Info, JSONFormat: true}),
	})
	rpc, err := client.Client()
	if err != nil {
		report("start", err.Error())
		os.Exit(1)
	}
	raw, err := rpc.Dispense("driver")
	if err != nil {
		report("dispense", err.Error())
		os.Exit(1)
	}
	c := raw.(*grpc.ClientConn)
	report("ping", rpc.Ping() == nil)
	v, err := call(c, base, "PluginInfo", `{}`)
	must("info", v, err)
	v, err = call(c, base, "SetConfig", `{"pluginApiVersion":"v0.1.0"}`)
	must("setConfig", v, err)
	v, err = call(c, driver, "Init", `{}`)
	must("init", v, err)
	v, err = call(c, driver, "Capabilities", `{}`)
	must("capabilities", v, err)
	v, err = first(c, "Fingerprint", `{}`, 5*time.Second)
	must("fingerprint", v, err)
	v, err = call(c, driver, "StartTask", `{"task":{"id":"bad","name":"web","msgpackDriverConfig":"wQ=="}}`)
	must("badStart", v, err)
	task := fmt.Sprintf(`{"task":{"id":"a/web/0a0b0c0d","name":"web","allocDir":%q,"stdoutPath":"/dev/null","stderrPath":"/dev/null","env":{"PATH":"/usr/bin:/bin"},"msgpackDriverConfig":%q}}`, allocDir, config)
	v, err = call(c, driver, "StartTask", task)
	must("start", v, err)
	v, err = first(c, "TaskStats", `{"taskId":"a/web/0a0b0c0d","collectionInterval":"0.1s"}`, 300*time.Millisecond)
	must("stats", v, err)
	v, err = call(c, driver, "WaitTask", `{"taskId":"a/web/0a0b0c0d"}`)
	must("wait", v, err)
	v, err = call(c, driver, "DestroyTask", `{"taskId":"a/web/0a0b0c0d","force":true}`)
	must("destroy", v, err)
	v, err = call(c, driver, "WaitTask", `{"taskId":"a/web/0a0b0c0d"}`)
	must("waitAgain", v, err)
	began := time.Now()
	client.Kill()
	report("killMs", time.Since(began).Milliseconds())
	report("exited", client.Exited())
	report("logs", strings.Split(strings.TrimSpace(logs.String()), "\n"))
}

type lockedBuffer struct {
	sync.Mutex
	strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Builder.Write(p)
}

// ---- plugin

var (
	mutex sync.Mutex
	tasks = map[string]*exec.Cmd{}
	ends  = map[string]chan struct{}{}
)

var errNotFound = errors.New("task not found for given id")

func field(m protoreflect.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

func recoverable(text string, flag string) error {
	d, _ := files.FindDescriptorByName("hashicorp.nomad.plugins.shared.structs.RecoverableError")
	value, _ := proto.Marshal(message(d.(protoreflect.MessageDescriptor), `{"recoverable":`+flag+`}`))
	s := status.New(codes.FailedPrecondition, text).Proto()
	s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + string(d.FullName()), Value: value})
	return status.FromProto(s).Err()
}

func answer(name string, in *dynamicpb.Message) (string, error) {
	id := ""
	if f := in.Descriptor().Fields().ByName("task_id"); f != nil {
		id = in.Get(f).String()
	}
	mutex.Lock()
	cmd, end := tasks[id], ends[id]
	mutex.Unlock()
	switch name {
	case "PluginInfo":
		return `{"type":"DRIVER","pluginApiVersions":["v0.1.0"],"pluginVersion":"0.1.0","name":"interop-go"}`, nil
	case "ConfigSchema":
		return `{"spec":{"object":{}}}`, nil
	case "TaskConfigSchema":
		return `{"spec":{"object":{"attributes":{"script":{"Attr":{"name":"script","type":"string","required":true}}}}}}`, nil
	case "Capabilities":
		return `{"capabilities":{"sendSignals":true,"networkIsolationModes":["HOST","GROUP"]}}`, nil
	case "StartTask":
		task := field(in, "task").Message()
		env := field(task, "env").Map()
		if v := env.Get(protoreflect.ValueOfString("FAIL").MapKey()); v.IsValid() {
			return "", recoverable("boom", v.String())
		}
		c := exec.Command("/bin/sh", "-c", env.Get(protoreflect.ValueOfString("SCRIPT").MapKey()).String())
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			return "", err
		}
		done := make(chan struct{})
		id = field(task, "id").String()
		mutex.Lock()
		tasks[id], ends[id] = c, done
		mutex.Unlock()
		go func() { _ = c.Wait(); close(done) }()
		config, _ := protojson.Marshal(task.Interface())
		return fmt.Sprintf(`{"handle":{"version":1,"state":"RUNNING","driverState":"c3RhdGU=","config":%s}}`, config), nil
	case "SetConfig", "Init", "Shutdown":
		return `{}`, nil
	}
	if cmd == nil {
		return "", errNotFound
	}
	switch name {
	case "WaitTask":
		<-end
		ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if ws.Signaled() {
			return fmt.Sprintf(`{"result":{"exitCode":%d,"signal":%d}}`, 128+int(ws.Signal()), int(ws.Signal())), nil
		}
		return fmt.Sprintf(`{"result":{"exitCode":%d}}`, ws.ExitStatus()), nil
	case "StopTask":
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-end
	case "DestroyTask":
		mutex.Lock()
		delete(tasks, id)
		mutex.Unlock()
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
			desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: string(m.Name()), Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				in := dynamicpb.NewMessage(m.Input())
				if err := decode(in); err != nil {
					return nil, err
				}
				out, err := answer(string(m.Name()), in)
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
		switch string(m.Name()) {
		case "Fingerprint":
			_ = s.SendMsg(message(m.Output(), `{"health":"HEALTHY","healthDescription":"Healthy","attributes":{"driver.interop":{"boolVal":true}}}`))
		case "TaskStats":
			id := field(in, "task_id").String()
			mutex.Lock()
			end := ends[id]
			mutex.Unlock()
			if end == nil {
				return errNotFound
			}
			_ = s.SendMsg(message(m.Output(), `{"stats":{"timestamp":"2026-01-01T00:00:01Z","aggResourceUsage":{"cpu":{"percent":1.5,"measuredFields":["PERCENT"]},"memory":{"rss":"4096","measuredFields":["RSS"]}}}}`))
			<-end
			return nil
		case "ExecTaskStreaming":
			return status.Error(codes.Unimplemented, "no exec")
		}
		<-s.Context().Done()
		return nil
	}
}

func serve() {
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: os.Stderr, JSONFormat: true})
	logger.Info("interop plugin up", "size", 3)
	plugin.Serve(&plugin.ServeConfig{HandshakeConfig: handshake, VersionedPlugins: plugins, GRPCServer: plugin.DefaultGRPCServer, Logger: logger})
}
