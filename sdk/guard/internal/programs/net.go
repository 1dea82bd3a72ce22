package programs

// netPrograms talk over the network.
var netPrograms = []program{
	{names: "ping ping6 traceroute tracepath mtr dig nslookup host whois ip ss netstat ifconfig arp route nmap telnet ftp iperf3 getent",
		args: "d*", opts: "i=d c=d f=r oN=w --interface=d"},
	{names: "ssh-keygen", args: "d*", opts: "f=w t=d b=d N=d P=d C=d s=r O=d I=d n=d V=d Y=d E=d m=d R=d F=d D=s"},
	{names: "ssh-add", args: "r*", opts: "t=d"},
	{names: "ssh-agent", args: "p", style: "stop", opts: "a=w t=d"},
	{names: "ssh autossh slogin", args: "d c*", style: "stop", opts: "p=d l=d i=r F=r o=d L=d R=d D=d J=d E=w b=d c=d e=d m=d O=d Q=d S=s W=d w=d I=s B=d M=d"},
	{names: "scp sftp", args: "s*", opts: "P=d i=r F=r o=d J=d l=d c=d S=c b=r"},
	{names: "openssl", args: "d s*", style: "single", opts: "-in=r -out=w -key=r -cert=r -CAfile=r -CApath=l -keyout=w -config=r -subj=d -days=d " +
		"-newkey=d -passin=d -passout=d -pass=d -k=d -K=d -iv=d -connect=d -servername=d -inkey=r -sign=r -verify=r -signature=r -rand=r -writerand=w -engine=s"},
	{names: "http https xh xhs httpie", args: "d*", opts: "o=w a=d A=d --output=w --auth=d --session=d --cert=r --cert-key=r --verify=d --download= --proxy=d"},
	{names: "nc ncat netcat socat", args: "d*", opts: "p=d s=d w=d i=d X=d x=d q=d e=c c=c --exec=c --sh-exec=c --lua-exec=k U= o=w --output=w"},
	{names: "aws", args: "d d s*", opts: "--endpoint-url=d --query=d --output=d --region=d --profile=d --bucket=d --key=d --body=r --cli-input-json=s " +
		"--template-body=s --payload=s --message=d --value=d --path=d --prefix=d --log-group-name=d --include=d --exclude=d --filter-pattern=d --name=d"},
	{names: "gcloud gsutil az s3cmd rclone", args: "s*", opts: "--format=d --filter=d --project=d --query=d --output=d"},
	{names: "gh glab hub", args: "d*", opts: "b=d t=d F=r f=d R=d B=d H=d l=d m=d q=d X=d p=d D=w L=d a=d r=d S=d s=d n=d e=d j=d --body=d --title=d --body-file=r --field=d --raw-field=d " +
		"--repo=d --base=d --head=d --label=d --milestone=d --jq=d --method=d --input=r --template=d --json=d --header=d --dir=w --notes=d --notes-file=r " +
		"--search=d --comment=d --message=d --limit=d --assignee=d --reviewer=d --pattern=d --output=w --subject=d"},
	{names: "kubectl oc k9s helm", args: "s*", opts: "f=r n=d l=d o=d c=d k=r p=d --filename=r --namespace=d --selector=d --output=d --container=d --raw=d --patch=d " +
		"--kubeconfig=r --context=d --values=r --set=d --field-selector=d --jsonpath=d --template=d --sort-by=d --type=d --image=d --from-literal=d --from-file=s"},
	{names: "wrk ab hey vegeta k6 siege", args: "d*", opts: "s=k c=d n=d t=d d=d H=d m=d T=d p=r u=r b=d g=w --script=k --latency= --header=d"},
	{names: "yt-dlp youtube-dl aria2c axel", args: "d*", opts: "o=w P=w d=w f=d a=r --output=w --paths=w --dir=w --out=w --exec=c --batch-file=r --input-file=r --cookies=r --config-location=r"},
	{names: "agent-browser playwright puppeteer open xdg-open browse lynx links w3m elinks", args: "s*", opts: ""},
}
