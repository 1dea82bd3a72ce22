package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// listResourcesAndPrompts adds the server's resources and prompts to all. A key is "resource:" and the URI, or
// "prompt:" and the name.
func listResourcesAndPrompts(ctx context.Context, session *mcp.ClientSession, dirs placeholderDirs, all map[string]listedTool) error {
	said := session.InitializeResult()
	if said == nil || said.Capabilities == nil {
		return nil
	}
	var err error
	if said.Capabilities.Resources != nil {
		err = addFeatures(all, dirs, pluginpb.ResourceKind, session.Resources(ctx, nil), func(r *mcp.Resource) string { return r.URI })
		if err == nil {
			err = addFeatures(all, dirs, pluginpb.ResourceKind, session.ResourceTemplates(ctx, nil),
				func(r *mcp.ResourceTemplate) string { return r.URITemplate })
		}
	}
	if said.Capabilities.Prompts != nil && err == nil {
		err = addFeatures(all, dirs, pluginpb.PromptKind, session.Prompts(ctx, nil), func(p *mcp.Prompt) string { return p.Name })
	}
	return err
}

// addFeatures adds listed resources or prompts to all, with their hashes.
func addFeatures[T any](all map[string]listedTool, dirs placeholderDirs, kind string, listed iter.Seq2[T, error], name func(T) string) error {
	for one, err := range listed {
		if err != nil {
			if strings.Contains(err.Error(), "Method not found") || strings.Contains(err.Error(), "method not found") {
				return nil // such as a server with resources and without templates
			}
			return fmt.Errorf("list its %ss: %w", kind, err)
		}
		if len(all) == maxTools {
			return fmt.Errorf("the server has more than %d tools, resources and prompts", maxTools)
		}
		key := pluginpb.CallNamePrefix(kind) + name(one)
		if _, known := all[key]; known { // such as a template without variables
			continue
		}
		text, err := json.Marshal(one)
		if err != nil {
			return err
		}
		text = dirs.insertPlaceholders(text)
		all[key] = listedTool{text, fmt.Sprintf("%x", sha256.Sum256(text)), kind}
	}
	return nil
}

// resourceOrPromptReader reads a resource or gets a prompt of the server. name is the server's own name for it.
type resourceOrPromptReader func(ctx context.Context, link *serverConnection, name string, values map[string]string) (sdk.Result, error)

// newFeatureHandler returns the handler that reads a resource or prompt of the server.
func (s *mcpServer) newFeatureHandler(spec pluginpb.ToolSpec, kind string, read resourceOrPromptReader,
) func(context.Context, *toolRequest) (sdk.Result, error) {
	key := pluginpb.CallNamePrefix(kind) + spec.Name
	return func(ctx context.Context, req *toolRequest) (sdk.Result, error) {
		link, err := s.connectForCall(ctx, req, key)
		if err != nil {
			return sdk.Result{}, err
		}
		values := map[string]string{}
		if err = json.Unmarshal(req.Args, &values); err != nil {
			return sdk.Result{}, sdk.Errorf(sdk.InvalidArgument, "%s: %v", spec.Name, err)
		}
		_, endCall := s.calls.beginCall(req)
		defer endCall()
		endChanges := s.changes.beginCall(req, s.id+"."+spec.Name)
		result, err := read(ctx, link, strings.TrimPrefix(s.definition.Tools[key].Name, pluginpb.CallNamePrefix(kind)), values)
		_, result.Undo = endChanges()
		if err != nil {
			return sdk.Result{}, s.newCallError(ctx, link, spec.Name, err)
		}
		return result, nil
	}
}

// readResource reads a resource of the server.
func (s *mcpServer) readResource(ctx context.Context, link *serverConnection, uri string, values map[string]string) (sdk.Result, error) {
	template, err := pluginpb.ParseURITemplate(uri)
	if err != nil {
		return sdk.Result{}, err
	}
	response, err := link.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: template.ExpandURI(values)})
	if err != nil {
		return sdk.Result{}, err
	}
	var result sdk.Result
	for _, c := range response.Contents {
		result.Content = append(result.Content, sdk.Content{URI: c.URI, MediaType: c.MIMEType, Text: c.Text, Data: c.Blob})
	}
	return result, nil
}

// getPrompt gets a prompt of the server.
func (s *mcpServer) getPrompt(ctx context.Context, link *serverConnection, name string, values map[string]string) (sdk.Result, error) {
	response, err := link.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: values})
	if err != nil {
		return sdk.Result{}, err
	}
	var result sdk.Result
	for _, m := range response.Messages {
		content := convertContent(m.Content)
		content.Role = string(m.Role)
		result.Content = append(result.Content, content)
	}
	return result, nil
}
