package rules

import (
	"slices"
	"strings"
)

// secretRules are about commands that print credentials which the machine keeps for its user. What an agent prints it may tell
// others; programs that need a credential get it from the same place without it being shown.
var secretRules = unlessDry([]Rule{
	{
		ID: "exec.credentials", Names: "gh glab", Match: both(mention("auth"), anyOf(verb("auth token"), both(verb("auth status"), flag("-t", "--show-token")))),
		Reason: "prints a credential", Safer: saferSecret,
		Hit:  []string{"gh auth token", "gh auth token --hostname github.com", "gh auth status --show-token", "gh auth status -t"},
		Miss: []string{"gh auth status", "gh pr list", "gh api user", "gh secret list", "gh issue list --search token"},
	},
	{
		ID: "exec.credentials", Names: "gcloud", Match: func(c *Command) bool {
			if c.Operand(0) != "auth" {
				return c.begins([]string{"secrets", "versions", "access"})
			}
			return slices.ContainsFunc(c.Operands(), func(word string) bool { return strings.HasPrefix(word, "print-") })
		},
		Reason: "prints a credential", Safer: saferSecret,
		Hit:  []string{"gcloud auth print-access-token", "gcloud auth application-default print-access-token", "gcloud auth print-identity-token", "gcloud secrets versions access latest --secret=db"},
		Miss: []string{"gcloud auth list", "gcloud config list", "gcloud secrets list", "gcloud run services list"},
	},
	{
		ID: "exec.credentials", Names: "aws", Match: anyOf(verb("configure export-credentials", "sts get-session-token", "secretsmanager get-secret-value", "secretsmanager batch-get-secret-value", "codeartifact get-authorization-token", "eks get-token"),
			both(verb("configure get"), func(c *Command) bool { return secretName(c.Operand(2)) }),
			both(verb("ssm get-parameter", "ssm get-parameters", "ssm get-parameters-by-path"), flag("--with-decryption"))),
		Reason: "prints a credential", Safer: saferSecret,
		Hit:  []string{"aws configure get aws_secret_access_key", "aws configure get default.aws_session_token", "aws configure export-credentials", "aws --profile p secretsmanager get-secret-value --secret-id x", "aws ssm get-parameter --name /a --with-decryption"},
		Miss: []string{"aws configure get region", "aws configure list", "aws sts get-caller-identity", "aws ssm get-parameter --name /a", "aws secretsmanager list-secrets", "aws s3 ls"},
	},
	{
		ID: "exec.credentials", Names: "az", Match: verb("account get-access-token", "keyvault secret show", "acr credential show", "storage account keys list"),
		Reason: "prints a credential", Safer: saferSecret,
		Hit:  []string{"az account get-access-token", "az account get-access-token --query accessToken -o tsv", "az keyvault secret show --name x"},
		Miss: []string{"az account show", "az account list", "az keyvault secret list", "az group list"},
	},
	{
		ID: "exec.credentials", Names: "security", Match: both(verb("find-generic-password", "find-internet-password", "dump-keychain", "export"), anyOf(flag("-w", "-g", "-d"), verb("export"))),
		Reason: "prints a credential", Safer: saferSecret,
		Hit:  []string{"security find-generic-password -w -s x", "security find-internet-password -g -s x", "security dump-keychain -d"},
		Miss: []string{"security find-identity -v -p codesigning", "security list-keychains", "security find-certificate -a", "security find-generic-password -s x"},
	},
	{
		ID: "exec.credentials", Names: "pass gopass", Match: both(operand, not(verb("ls", "list", "find", "search", "version", "help", "git", "init", "generate", "insert", "add", "edit", "rm", "mv", "cp"))),
		Reason: "prints a credential", Safer: saferSecret,
		Hit:  []string{"pass show work/aws", "pass work/aws", "pass -c work/aws", "gopass show -o x"},
		Miss: []string{"pass", "pass ls", "pass find aws", "pass --version"},
	},
	{
		ID: "exec.credentials", Names: "op", Match: verb("read", "item get", "document get", "get item", "get document", "inject"),
		Reason: "prints a credential", Safer: saferSecret,
		Hit: []string{"op read op://a/b/c", "op item get aws --fields password"}, Miss: []string{"op item list", "op vault list", "op whoami", "op run -- npm start"},
	},
	{
		ID: "exec.credentials", Names: "vault bao", Match: verb("read", "kv get", "kv export", "print token", "token create", "token lookup"),
		Reason: "prints a credential", Safer: saferSecret,
		Hit:  []string{"vault read secret/aws", "vault kv get secret/aws", "vault kv get -field=password secret/aws", "vault print token"},
		Miss: []string{"vault status", "vault kv list secret/", "vault secrets list", "vault policy list", "vault kv metadata get secret/aws"},
	},
	{
		ID: "exec.credentials", Names: "bw lpass secret-tool keyring chamber kwallet-query doppler", Match: anyOf(verb("get", "show", "lookup", "export", "read", "list items"), both(verb("secrets"), not(verb("secrets set", "secrets delete", "secrets upload")))),
		Reason: "prints a credential", Safer: saferSecret,
		Hit:  []string{"bw get password x", "lpass show --password x", "secret-tool lookup service x", "keyring get a b", "doppler secrets get X", "doppler secrets"},
		Miss: []string{"bw status", "lpass ls", "secret-tool --version", "keyring --list-backends", "doppler configs", "doppler secrets set X", "doppler run -- npm start"},
	},
	{
		ID: "exec.credentials", Names: "kubectl oc", Match: kubernetesSecret,
		Reason: "prints credentials", Safer: "print their names with kubectl get secrets, or their sizes with kubectl describe secret",
		Hit: []string{"kubectl get secret db -o yaml", "kubectl -n prod get secrets -ojson", "kubectl get secret/db -o jsonpath={.data.password}", "kubectl get secrets -A --output=json", "kubectl get cm,secret -o yaml",
			"kubectl config view --raw", "kubectl create token sa", "oc whoami -t", "kubectl get secret db -o go-template={{.data}}", "kubectl get secret db -o jsonpath={.data}"},
		Miss: []string{"kubectl get secrets", "kubectl get secret db", "kubectl describe secret db", "kubectl get secret db -o name", "kubectl get secret db -o wide", "kubectl get cm app -o yaml", "kubectl get pods -o json",
			"kubectl config view", "kubectl get secret db -o jsonpath={.data.host}", "kubectl get secret db -o jsonpath={.metadata.name}", "oc whoami", "kubectl create secret generic x --from-literal=a=b --dry-run=client -o yaml"},
	},
	{
		ID: "exec.credentials", Names: "git", Match: func(c *Command) bool {
			words := c.gitWords()
			return len(words) > 1 && (words[0] == "credential" && words[1] == "fill" || strings.HasPrefix(words[0], "credential-") && slices.Contains(words[1:], "get"))
		},
		Reason: "prints a credential", Safer: saferSecret,
		Hit: []string{"git credential fill", "git credential-store get", "git credential-osxkeychain get"}, Miss: []string{"git credential approve", "git config credential.helper", "git fetch", "git log --grep credential"},
	},
	{
		ID: "exec.credentials", Names: "gpg gpg2", Match: prefix("--export-secret"),
		Reason: "prints a private key",
		Hit:    []string{"gpg --export-secret-keys -a x", "gpg -a --export-secret-subkeys x"}, Miss: []string{"gpg --export -a x", "gpg --list-secret-keys", "gpg --verify a.sig", "gpg -d a.gpg"},
	},
	{
		ID: "exec.credentials", Names: "npm pnpm", Match: anyOf(verb("token create"), both(verb("config get", "get", "c get"), func(c *Command) bool { return prefix("//", "_auth")(c) })),
		Reason: "prints a credential",
		Hit:    []string{"npm token create", "npm config get //registry.npmjs.org/:_authToken"}, Miss: []string{"npm token list", "npm config get registry", "npm whoami", "npm config list"},
	},
	{
		ID: "exec.credentials", Names: "heroku flyctl fly doctl vercel railway", Match: verb("auth:token", "auth token", "tokens create", "auth list-tokens"),
		Reason: "prints a credential",
		Hit:    []string{"heroku auth:token", "flyctl auth token"}, Miss: []string{"heroku auth:whoami", "flyctl status", "heroku config", "flyctl auth whoami"},
	},
})

const saferSecret = "let the program that needs it ask for it itself"

// secretName says whether a name is one that credentials have.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return !strings.HasSuffix(name, "_id") && slices.ContainsFunc([]string{"secret", "token", "password", "passwd", "pwd", "private", "key"}, func(part string) bool { return strings.Contains(name, part) })
}

// kubernetesSecret says whether what is in a cluster's secrets is printed, or a credential for the cluster is.
func kubernetesSecret(c *Command) bool {
	switch verb, object := c.Operand(0), c.Operand(1); {
	case verb == "config" && object == "view":
		return c.Opts().Has("--raw")
	case verb == "create" && object == "token":
		return true
	case verb == "whoami":
		return c.Opts().Has("-t", "--show-token")
	case verb != "get" || object == "":
		return false
	}
	secret := slices.ContainsFunc(c.Operands()[1:], func(w string) bool {
		kind, _, _ := strings.Cut(strings.ToLower(w), "/")
		return slices.ContainsFunc(strings.Split(kind, ","), func(kind string) bool { return kind == "secret" || kind == "secrets" })
	})
	output, _ := c.Opts().Value("-o", "--output")
	output = strings.TrimPrefix(output, "=")
	if template, ok := c.Opts().Value("--template"); ok {
		output += template
	}
	format, _, named := strings.Cut(strings.ToLower(output), "=")
	switch {
	case !secret:
		return false
	case format == "yaml" || format == "json":
		return true
	case !named && !strings.Contains(format, "{"):
		return false // names, and how many
	}
	_, field, data := strings.Cut(strings.ToLower(output), ".data")
	return data && (field == "" || field[0] != '.' && field[0] != '[' || secretName(field) || strings.Contains(field, "url"))
}
