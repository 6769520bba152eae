// Runs `npm start` on a separate port and tests the application at the printed URL: its front page, its login page, and the
// token endpoint with the printed account. Then it stops the application.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { npmInvocation } from "../packages/create-ashlar/src/package-managers.ts";

const root = join(import.meta.dirname, "..");
const { command, args } = npmInvocation(["start"]);
const isWindows = process.platform === "win32";
// In a separate process group, because npm doesn't end the processes that it has started.
const child = spawn(command, args, {
  cwd: root,
  env: { ...process.env, PORT: "3917" },
  stdio: ["ignore", "pipe", "inherit"],
  detached: !isWindows,
});

interface Printed {
  readonly url: string;
  readonly email: string;
  readonly password: string;
}

/** Waits until the demo account is printed, and continues reading, so that the server can log its requests. */
function printed({ stdout }: ChildProcess): Promise<Printed> {
  let output = "";
  return new Promise((resolve, reject) => {
    stdout!.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      process.stdout.write(chunk);
      const [, email, password] = /^A demo account: (\S+), password "([^"]+)"/m.exec(output) ?? [];
      const [, url] = /^ {2}Log in +(\S+)login$/m.exec(output) ?? [];
      if (url !== undefined && email !== undefined && password !== undefined) resolve({ url, email, password });
    });
    stdout!.on("close", () => reject(new Error("npm start ended before it listened.")));
  });
}

try {
  const { url, email, password } = await printed(child);
  for (const path of ["", "login", "register"]) {
    const { status } = await fetch(url + path);
    if (status !== 200) throw new Error(`/${path} responded with ${status}.`);
  }
  const body = new URLSearchParams({ username: email, password });
  const issued = (await (await fetch(`${url}api/auth`, { method: "POST", body })).json()) as { data?: string };
  const me = await fetch(`${url}api/me`, { headers: { authorization: `Bearer ${issued.data}` } });
  if (me.status !== 200) throw new Error(`/api/me responded with ${me.status} to the token of /api/auth.`);
  console.log("\nnpm start serves the pages, and an API token works.");
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  if (child.stdout?.closed === false) {
    if (isWindows) spawnSync("taskkill", ["/pid", String(child.pid), "/T", "/F"]);
    else process.kill(-child.pid!, "SIGTERM");
    await once(child, "close");
  }
}
