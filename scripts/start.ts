// `npm start`: builds the framework, creates an application in .demo/ the first time (with the code that `npm create
// ashlar` runs), migrates its database, and serves it with a demo account.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Application } from "ashlar";
import { type Invocation, npmInvocation } from "../packages/create-ashlar/src/package-managers.ts";

const root = join(import.meta.dirname, "..");
const demo = join(root, ".demo");
const account = { name: "Demo", email: "demo@example.com" };
const password = "stone on stone";

function run({ command, args }: Invocation, cwd: string): void {
  const { status, error } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (error !== undefined) console.error(`${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

const script = (path: string, ...args: string[]): Invocation => ({
  command: process.execPath,
  args: [join(root, path), ...args],
});

run(npmInvocation(["run", "--silent", "build"]), root);
if (existsSync(join(demo, "app.ts"))) {
  run(script("packages/ashlar/bin/ashlar.js", "migrate"), demo);
} else {
  run(script("packages/create-ashlar/bin/create-ashlar.js", demo, "--yes", "--no-install"), root);
}

const { default: application } = (await import(pathToFileURL(join(demo, "app.ts")).href)) as { default: Application };
const { User } = await import(pathToFileURL(join(demo, "app/models/user.ts")).href);
if ((await User.findBy("email", account.email)) === null) {
  const user = new User();
  user.fill(account);
  await user.setPassword(password);
  await user.save();
  await user.markEmailAsVerified();
}

const { url } = await application.listen();
console.log(`
A demo account: ${account.email}, password "${password}".

  Log in         ${url}login
  Register       ${url}register
  Sent mail      ${url}dev/mailbox

The same account through the API. Paste into another terminal:

  curl -s -d "username=${account.email}" --data-urlencode "password=${password}" ${url}api/auth

  TOKEN=$(curl -s -d "username=${account.email}" --data-urlencode "password=${password}" ${url}api/auth | sed 's/.*"data":"\\([^"]*\\)".*/\\1/')
  curl -s -H "Authorization: Bearer $TOKEN" ${url}api/me
  curl -s -d "token=$TOKEN" ${url}api/reauth

Stop it with Ctrl+C. Its files are in .demo/.`);
