// Our own program on the real go-plugin: with the magic cookie it is a driver plugin, without it a host for one.
// Messages are dynamic, from the descriptors of ../../../proto, so that no generated code is needed.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"os"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
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
