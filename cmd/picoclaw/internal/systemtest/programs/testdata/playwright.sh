echo '<p id=x>page</p><script>x.textContent += " ready"</script>' > p.html
cat > p.js <<'J'
const {chromium} = require('./tools/playwright-core');
(async () => {
  const browser = await chromium.launch({executablePath: '/usr/bin/chromium'});
  const page = await browser.newPage();
  await page.goto('file://' + process.cwd() + '/p.html');
  console.log(await page.textContent('#x'));
  await browser.close();
})().catch(e => { console.log(String(e)); process.exit(1); });
J
timeout 100 node p.js >out 2>&1 || { sed 's/^ *\[pid=[0-9]*\]\[err\] //' out; exit 1; }
grep -qx 'page ready' out
