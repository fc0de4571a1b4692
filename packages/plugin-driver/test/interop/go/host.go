// The host: loads an executable as an agent does and prints one JSON object a line of what it saw.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/dynamicpb"
)

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
		AutoMTLS:         os.Getenv("INTEROP_MTLS") != "",
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
