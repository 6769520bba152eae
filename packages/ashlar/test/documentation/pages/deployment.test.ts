import { execFileSync } from "node:child_process";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateSecret } from "../../../src/security/index.ts";
import { ashlar } from "../../support/command-line.ts";
import {
  COMMAND,
  checkTypes,
  edit,
  execute,
  freePort,
  generateApplication,
  type ServedProcess,
  startServing,
} from "../../support/generated-application.ts";
import { startProcess } from "../../support/long-process.ts";
import { followPage, pageFiles } from "../../support/page-files.ts";
import { markdownSamples } from "../../support/samples.ts";
import { withProgram } from "../../support/system-programs.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PAGE = "docs/guides/deployment.md";
const VISITOR = "127.0.0.2";

async function sample(language: string): Promise<string> {
  return (await markdownSamples(PAGE)).find((one) => one.language === language)!.code;
}

/** The rows of the page's table, as the variables of a machine behind a proxy. */
function variables(port: number): Record<string, string> {
  return {
    APP_ENV: "production",
    NODE_ENV: "production",
    APP_URL: "https://shop.example",
    APP_KEY: generateSecret(),
    JWT_SECRET: generateSecret(),
    HOST: "127.0.0.1",
    PORT: String(port),
    // Not all of loopback, because the visitor of these tests is there as well.
    TRUSTED_PROXIES: "127.0.0.1",
    MAIL_FROM: "shop@shop.example",
    SMTP_HOST: "127.0.0.1",
  };
}

describe("in production, as the page sets it up", () => {
  let root: string;
  let remove: () => Promise<void>;
  let served: ServedProcess;
  let port: number;

  beforeAll(async () => {
    ({ root, remove } = await generateApplication());
    await followPage(root, PAGE);
    await edit(
      root,
      "routes/web.ts",
      ["export const ROUTES", 'import { HEALTH } from "./health.ts";\n\nexport const ROUTES'],
      [
        "...Auth.routes(AuthControllers),",
        '...Auth.routes(AuthControllers),\n  Route.get("/seen", ({ request }) => ({ ip: request.clientAddress, scheme: request.raw.url.split(":")[0], host: request.getHost() })),\n  ...HEALTH,',
      ],
    );
    await checkTypes(root);
    await ashlar(root, "migrate");
    port = await freePort();
    served = await startServing(root, variables(port));
  });
  afterAll(async () => {
    served?.child.kill("SIGKILL");
    await remove();
  });

  test("the route for monitors responds, without a session", async () => {
    const response = await fetch(`${served.url}up`);
    expect([response.status, await response.text(), response.headers.get("cache-control")]).toEqual([
      200,
      "up",
      "no-store",
    ]);
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  /** Asks a proxy for a page of shop.example, as a visitor who claims to be someone else. */
  function ask(
    proxy: number,
    path: string,
    host = "shop.example",
  ): Promise<{ readonly status: number; readonly text: string; readonly cookies: string[] }> {
    return new Promise((resolve, reject) => {
      const forwarded = { "x-forwarded-for": "8.8.8.8", "x-forwarded-proto": "http" };
      const headers = { host, "x-forwarded-host": "evil.example", ...forwarded };
      const options = {
        host: "127.0.0.1",
        port: proxy,
        path,
        headers,
        servername: "shop.example",
        localAddress: VISITOR,
        rejectUnauthorized: false,
      };
      const sent = httpsRequest(options, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () =>
          resolve({ status: response.statusCode!, text, cookies: response.headers["set-cookie"] ?? [] }),
        );
      });
      sent.on("error", reject).end();
    });
  }

  async function passesOn(proxy: number): Promise<void> {
    await expect.poll(() => ask(proxy, "/up").then(({ status }) => status, String)).toBe(200);
    // The address is the one that the proxy saw, not the one that the visitor claims.
    expect(JSON.parse((await ask(proxy, "/seen")).text)).toEqual({
      ip: VISITOR,
      scheme: "https",
      host: "shop.example",
    });
    const { status, cookies } = await ask(proxy, "/login");
    expect(status).toBe(200);
    expect(cookies.join()).toMatch(/^__Host-session=.*; Secure/);
  }

  function certificate(folder: string): { readonly key: string; readonly chain: string } {
    const [key, chain] = [join(folder, "key.pem"), join(folder, "chain.pem")];
    const subject = ["-subj", "/CN=shop.example", "-addext", "subjectAltName=DNS:shop.example"];
    const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    execFileSync("openssl", ["req", ...kind, ...subject, "-keyout", key, "-out", chain], { stdio: "ignore" });
    return { key, chain };
  }

  withProgram("nginx", () => {
    test("the configuration passes requests on with the visitor's address, over https", async () => {
      const folder = await temporaryFolder();
      const { key, chain } = certificate(folder);
      const [plain, secure] = [await freePort(), await freePort()];
      const server = (await sample("nginx"))
        .replace("127.0.0.1:3000", `127.0.0.1:${port}`)
        .replace("listen 80 default_server;", `listen 127.0.0.1:${plain} default_server;`)
        .replace("listen 443 ssl default_server;", `listen 127.0.0.1:${secure} ssl default_server;`)
        .replace("listen 80;", `listen 127.0.0.1:${plain};`)
        .replace("listen 443 ssl http2;", `listen 127.0.0.1:${secure} ssl http2;`)
        .replace(/ssl_certificate \S+;/, `ssl_certificate ${chain};`)
        .replace(/ssl_certificate_key \S+;/, `ssl_certificate_key ${key};`);
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      );
      const text = `daemon off; pid ${folder}/nginx.pid; error_log stderr; events {}\nhttp { access_log off; ${temporary.join(" ")}\n${server}\n}`;
      await writeFile(join(folder, "nginx.conf"), text);
      startProcess(folder, "nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"]);
      await passesOn(secure);
      const visit = (host: string): Promise<readonly [status: number | undefined, location: string | undefined]> =>
        new Promise((resolve, reject) => {
          const options = { host: "127.0.0.1", port: plain, path: "/login?a=1", headers: { host } };
          const sent = httpRequest(options, (response) => {
            response.resume();
            resolve([response.statusCode, response.headers.location]);
          });
          sent.on("error", reject).end();
        });
      expect(await visit("shop.example")).toEqual([301, "https://shop.example/login?a=1"]);
      // Neither the application nor the redirect ever sees another host.
      await expect(visit("evil.example")).rejects.toThrow("socket hang up");
      await expect(ask(secure, "/seen", "evil.example")).rejects.toThrow("socket hang up");
    });
  });

  withProgram("caddy", () => {
    test("its two lines do the same", async () => {
      const folder = await temporaryFolder();
      const { key, chain } = certificate(folder);
      const secure = await freePort();
      const site = (await sample("caddy"))
        .replace("shop.example {", `https://shop.example:${secure} {\n  bind 127.0.0.1\n  tls ${chain} ${key}`)
        .replace("127.0.0.1:3000", `127.0.0.1:${port}`);
      await writeFile(
        join(folder, "Caddyfile"),
        `{\n  admin off\n  auto_https off\n  skip_install_trust\n}\n${site}\n`,
      );
      const environment = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
      startProcess(
        folder,
        "caddy",
        ["run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"],
        environment,
      );
      await passesOn(secure);
    });
  });

  withProgram("systemd-analyze", () => {
    test("systemd reads the unit without a complaint", async () => {
      const folder = await temporaryFolder();
      const unit = (await sample("ini")).replace("/usr/bin/node", process.execPath);
      await writeFile(join(folder, "shop.service"), unit);
      const { code, output } = await execute(folder, "systemd-analyze", [
        "verify",
        "--man=no",
        join(folder, "shop.service"),
      ]);
      expect([code, output.split("\n").filter((line) => line.includes("shop.service"))]).toEqual([0, []]);
    });
  });
});

/** The instructions of a Dockerfile, in order, without comments. */
function instructions(text: string): readonly (readonly [name: string, rest: string])[] {
  return text.split("\n").flatMap((line) => {
    const [, name, rest] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [[name, rest] as const];
  });
}

test("the image is built from files that the repository has, without its secrets, and its command serves", async () => {
  const { root, remove } = await generateApplication();
  try {
    await followPage(root, PAGE);
    const files = await pageFiles(PAGE);
    const ignored = files
      .find(({ path }) => path === ".dockerignore")!
      .text.trim()
      .split("\n");
    expect(ignored).toEqual(
      expect.arrayContaining([".env*", "*.env", "*.jsonl", "node_modules", "database/*.sqlite*"]),
    );
    const commands = (await markdownSamples(PAGE)).find(({ code }) => code.startsWith("docker build"))!.code;
    // Outside of the folder that `COPY . .` copies.
    expect(commands.match(/--env-file \S+/g)).toEqual(["--env-file /etc/shop.env", "--env-file /etc/shop.env"]);
    const steps = instructions(await readFile(join(root, "Dockerfile"), "utf8"));
    const of = (name: string): string[] => steps.flatMap(([one, rest]) => (one === name ? [rest] : []));
    const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { engines: { node: string } };
    // The base image has a Node.js that the application runs on.
    const [, major] = /^node:(\d+)-slim$/.exec(of("FROM")[0]!)!;
    expect(Number(major)).toBeGreaterThanOrEqual(Number(/\d+/.exec(manifest.engines.node)![0]));
    expect(of("COPY")).toEqual(["package.json package-lock.json ./", ". ."]);
    expect(of("USER")).toEqual(["node"]);
    const data = join(root, "data");
    await mkdir(data);
    const environment = Object.fromEntries(of("ENV").flatMap((line) => line.split(" ").map((pair) => pair.split("="))));
    const port = await freePort();
    const all = {
      ...variables(port),
      TRUSTED_PROXIES: "172.17.0.1",
      ...environment,
      PORT: String(port),
      DATABASE_PATH: environment.DATABASE_PATH.replace("/data", data),
    };
    expect((await execute(root, process.execPath, [COMMAND, "migrate"], all)).code).toBe(0);
    const [program, script, ...args] = JSON.parse(of("CMD")[0]!) as string[];
    expect([program, script]).toEqual(["node", "node_modules/ashlar/bin/ashlar.js"]);
    startProcess(root, process.execPath, [COMMAND, ...args], all);
    await expect.poll(() => fetch(`http://127.0.0.1:${port}/login`).then(({ status }) => status, String)).toBe(200);
  } finally {
    await remove();
  }
});

withProgram("sqlite3", () => {
  test("a backup is readable by its owner only", async () => {
    const folder = await temporaryFolder();
    const [database, copy] = [join(folder, "app.sqlite"), join(folder, "copy.sqlite")];
    execFileSync("sqlite3", [database, "create table users (id integer)"]);
    const [line = ""] = (await markdownSamples(PAGE)).find(({ code }) => code.includes(".backup"))!.code.split("\n");
    const command = line.replace("/srv/shop/database/app.sqlite", database).replace("/var/backups/shop.sqlite", copy);
    execFileSync("sh", ["-c", command]);
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
  });
});
