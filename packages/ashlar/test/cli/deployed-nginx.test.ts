// The nginx configuration from `ashlar make:deploy`, added to Debian's as the manual says.
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeCertificate } from "../support/certificate.ts";
import { ashlar } from "../support/command-line.ts";
import { HOST } from "../support/deployed-proxies.ts";
import { freePort } from "../support/free-port.ts";
import { execute, generatedApplication } from "../support/generated-application.ts";
import { HttpsVisitor, plainly } from "../support/https-visitor.ts";
import { startProcess } from "../support/long-process.ts";
import { markdownSamples } from "../support/samples.ts";
import { withProgram } from "../support/system-programs.ts";
import { makeFolder } from "../support/temporary-folder.ts";

const DEBIAN = "/etc/nginx";
const CONNECTIONS = 5000;

interface DebianNginx {
  readonly plain: number;
  readonly secure: number;
  /** What `nginx -t` printed. */
  readonly checked: string;
}

/** Follows the manual on a copy of Debian's configuration, with free ports, and starts nginx with it. */
async function startDebianNginx(instance: number): Promise<DebianNginx> {
  const { folder, remove } = makeFolder({});
  onTestFinished(() => remove());
  const { chain, key } = makeCertificate(folder, HOST);
  const root = await generatedApplication();
  const { output } = await ashlar(root, "make:deploy", "nginx", "--domain", HOST);
  const [, target = ""] = /copy it to \/etc\/nginx\/(\S+),/.exec(output) ?? [];
  const copy = join(folder, "nginx");
  await cp(DEBIAN, copy, { recursive: true, dereference: true });
  await cp(join(root, "deploy/nginx.conf"), join(copy, target));
  const commands = (await markdownSamples("docs/guides/deployment.md")).find(({ code }) =>
    code.includes("worker_connections"),
  )!.code;
  const here = commands
    .replaceAll("sudo ", "")
    .replaceAll(DEBIAN, copy)
    .replaceAll(/^systemctl .*$/gm, "");
  const followed = await execute(folder, "sh", ["-euc", here.replaceAll(/^nginx .*$/gm, "")]);
  expect(followed.code, followed.output).toBe(0);

  const [plain, secure] = [await freePort(), await freePort()];
  await mkdir(join(folder, "log"));
  const files = (await readdir(copy, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  for (const { parentPath, name } of files) {
    const text = await readFile(join(parentPath, name), "utf8");
    const changed = text
      .replaceAll(/listen (\[::\]:)?80\b/g, `listen $1${plain}`)
      .replaceAll(/listen 443\b/g, `listen ${secure}`)
      .replaceAll(`/etc/letsencrypt/live/${HOST}/fullchain.pem`, chain)
      .replaceAll(`/etc/letsencrypt/live/${HOST}/privkey.pem`, key)
      .replaceAll("127.0.0.1:3000", `127.0.0.1:${instance}`)
      .replaceAll("/var/log/nginx", join(folder, "log"))
      .replaceAll("/run/nginx.pid", join(folder, "nginx.pid"))
      .replaceAll(DEBIAN, copy)
      // Only root can make nginx change its user.
      .replace(/^user .*$/m, "");
    if (changed !== text) await writeFile(join(parentPath, name), changed);
  }
  const configuration = ["-c", join(copy, "nginx.conf"), "-e", "stderr"];
  const { code, output: checked } = await execute(folder, "nginx", ["-t", ...configuration]);
  expect(code, checked).toBe(0);
  startProcess(folder, "nginx", [...configuration, "-g", "daemon off;"]);
  await expect.poll(() => plainly(plain, HOST).catch(String)).toEqual([301, `https://${HOST}/login?a=1`]);
  return { plain, secure, checked };
}

async function startInstance(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server = createServer(handler);
  onTestFinished(() => void server.close());
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return port;
}

/** Opens connections that get one response each and stay open. */
async function keepOpen(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const opened = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1");
      sockets.push(socket);
      socket.once("data", () => resolve());
      socket.once("error", reject).once("close", () => reject(new Error("closed")));
      socket.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
    });
  for (let left = count; left > 0; left -= 100) await Promise.all(Array.from({ length: Math.min(100, left) }, opened));
  return sockets;
}

const define = existsSync(join(DEBIAN, "sites-available/default")) ? describe : describe.skip;

withProgram("nginx", () => {
  test("it accepts the files that Compose mounts over the image's configuration", async () => {
    const { folder, remove } = makeFolder({});
    onTestFinished(() => remove());
    const { chain, key } = makeCertificate(folder, HOST);
    const root = await generatedApplication();
    await ashlar(root, "make:deploy", "compose", "--domain", HOST);
    const text = await readFile(join(root, "deploy/nginx.compose.conf"), "utf8");
    const { output: version } = await execute(folder, "nginx", ["-v"]);
    const [, minor = 0] = /nginx\/1\.(\d+)/.exec(version) ?? [];
    const here = text
      .replaceAll(/listen \d+/g, (listen) => `${listen}0`)
      .replaceAll(`/etc/letsencrypt/live/${HOST}/fullchain.pem`, chain)
      .replaceAll(`/etc/letsencrypt/live/${HOST}/privkey.pem`, key)
      .replaceAll("/var/log/nginx", folder)
      // The image's nginx is newer than most.
      .replace("http2 on;", Number(minor) > 25 ? "http2 on;" : "");
    expect(here).not.toContain(Number(minor) > 25 ? "/etc/letsencrypt" : "http2");
    const file = join(folder, "nginx.conf");
    await writeFile(file, `pid ${folder}/nginx.pid;\n${here}`);
    const { code, output } = await execute(folder, "nginx", ["-t", "-c", file, "-e", "stderr"]);
    expect(code, output).toBe(0);
    expect(output).not.toMatch(/warn|emerg/);
  });

  define("in Debian's configuration", () => {
    test("it works beside Debian's own site, without a warning, and other hosts don't reach the application", async () => {
      const asked: (string | undefined)[] = [];
      const instance = await startInstance(({ headers }, response) => {
        asked.push(headers.host);
        response.end("the shop");
      });
      const { plain, secure, checked } = await startDebianNginx(instance);
      expect(checked).not.toMatch(/warn|emerg/);
      const visitor = new HttpsVisitor(secure, HOST, "127.0.0.2");
      onTestFinished(() => visitor.leave());
      expect(await visitor.ask("/login")).toMatchObject({ status: 200, text: "the shop" });
      // Debian's site responds to them: it is the default there.
      await plainly(plain, "evil.example").catch(String);
      const stranger = new HttpsVisitor(secure, "evil.example", "127.0.0.2");
      onTestFinished(() => stranger.leave());
      await expect(stranger.ask("/login")).rejects.toThrow();
      expect(asked).toEqual([HOST]);
    });

    test(`it continues with ${CONNECTIONS} open connections`, async () => {
      const { plain, secure } = await startDebianNginx(
        await startInstance((_, response) => void response.end("the shop")),
      );
      const sockets = await keepOpen(plain, CONNECTIONS);
      const visitor = new HttpsVisitor(secure, HOST, "127.0.0.2");
      onTestFinished(() => visitor.leave());
      expect(await visitor.ask("/login")).toMatchObject({ status: 200, text: "the shop" });
      expect(sockets.filter(({ destroyed }) => destroyed).length).toBe(0);
    });
  });
});
