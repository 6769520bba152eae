import { existsSync } from "node:fs";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { COMMAND, edit, execute, freePort, generatedApplication } from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";
import { withProgram } from "../support/system-programs.ts";
import { readUnit } from "../support/systemd-unit.ts";

const FILES = [
  ...["Dockerfile", ".dockerignore", "compose.yaml", "deploy/nginx.compose.conf", "deploy/shop@.service"],
  ...["deploy/nginx.conf", "deploy/Caddyfile", "deploy/haproxy.cfg"],
];

const read = (root: string, file: string): Promise<string> => readFile(join(root, file), "utf8");

describe("files", () => {
  test("all are written, with the next steps for each, and no database is created", async () => {
    const root = await generatedApplication();
    const { code, output, errors } = await ashlar(root, "make:deploy");
    expect([code, errors]).toEqual([0, ""]);
    const [written, steps = ""] = output.split("\n\nNext steps:\n");
    expect(written).toBe(FILES.map((file) => `Created ${file}`).join("\n"));
    const named = steps.split("\n").map((step) => /^- (\S+?):? /.exec(step)?.[1]);
    expect(named).toEqual([
      ...["Dockerfile", "compose.yaml", "compose.yaml", "deploy/shop@.service", "deploy/nginx.conf"],
      ...["deploy/Caddyfile", "deploy/haproxy.cfg"],
    ]);
    expect(await readdir(join(root, "database"))).toEqual(["migrations"]);
  });

  test("only the named ones are written, and Compose's include the image's", async () => {
    const root = await generatedApplication();
    expect((await ashlar(root, "make:deploy", "nginx", "systemd")).output).toMatch(
      /^Created deploy\/shop@\.service\nCreated deploy\/nginx\.conf\n\nNext steps:\n- deploy\/shop@\S+: .+\n- deploy\/nginx\.conf: .+$/,
    );
    await ashlar(root, "make:deploy", "compose");
    expect(FILES.filter((file) => existsSync(join(root, file)))).toEqual(FILES.slice(0, 6));
  });

  test("if one file differs, none is written, unless the author says so", async () => {
    const root = await generatedApplication();
    await writeFile(join(root, "Dockerfile"), "FROM scratch\n");
    const refused = await ashlar(root, "make:deploy");
    expect(refused).toMatchObject({ code: 1, output: "" });
    expect(refused.errors).toMatch(
      /^These files differ from what would be written:\n {2}Dockerfile\nNothing was written\./,
    );
    expect([await read(root, "Dockerfile"), existsSync(join(root, "deploy"))]).toEqual(["FROM scratch\n", false]);

    const shown = await ashlar(root, "make:deploy", "docker", "--dry-run");
    expect(shown.output).toContain("-FROM scratch\n+# Installs the packages");
    expect(shown.output).toContain("+++ b/.dockerignore");
    expect([await read(root, "Dockerfile"), existsSync(join(root, ".dockerignore"))]).toEqual([
      "FROM scratch\n",
      false,
    ]);

    expect((await ashlar(root, "make:deploy", "docker", "--force")).output).toMatch(
      /^Changed Dockerfile\nCreated \.dockerignore\n/,
    );
    expect(await read(root, "Dockerfile")).toContain("FROM node:");
    expect((await ashlar(root, "make:deploy", "docker")).output).toMatch(
      /^Everything is already in place; nothing was changed\.\n/,
    );
  });

  test("unwritable files, an invalid domain, and a folder without an application are refused", async () => {
    const root = await generatedApplication();
    expect((await ashlar(root, "make:deploy", "heroku")).errors).toContain("Allowed choices are docker, compose,");
    for (const domain of ["https://shop.example", "shop", "10.0.0.1", "shop.example;", "-shop.example"]) {
      const { code, errors } = await ashlar(root, "make:deploy", `--domain=${domain}`);
      expect([code, errors]).toEqual([1, `"${domain}" is not a host name. Write it like --domain shop.example`]);
    }
    for (const number of ["0", "-1", "1.5", "10000", "many"]) {
      const { code, errors } = await ashlar(root, "make:deploy", `--max-requests=${number}`);
      expect([code, errors]).toEqual([1, expect.stringContaining("It must be a whole number from 1 to 9999.")]);
    }
    await rm(join(root, "app.ts"));
    expect((await ashlar(root, "make:deploy")).errors).toContain("There is no app.ts");
    expect(existsSync(join(root, "deploy"))).toBe(false);
  });

  test("--max-requests limits the requests that nginx and HAProxy send to each instance, in Compose too", async () => {
    const root = await generatedApplication();
    const limits = async (): Promise<string[]> => {
      const paths = ["deploy/nginx.conf", "deploy/nginx.compose.conf", "deploy/haproxy.cfg"];
      const texts = await Promise.all(paths.map((path) => read(root, path)));
      return texts.map((text) => (text.match(/ (?:max_conns=|maxconn )\d+/g) ?? []).join());
    };
    await ashlar(root, "make:deploy");
    expect(await limits()).toEqual([" max_conns=256, max_conns=256", " max_conns=256, max_conns=256", ""]);
    await ashlar(root, "make:deploy", "--max-requests", "64", "--force");
    expect(await limits()).toEqual([
      " max_conns=64, max_conns=64",
      " max_conns=64, max_conns=64",
      " maxconn 64, maxconn 64",
    ]);
  });

  test("the command ends even if the application has a timer", async () => {
    const root = await generatedApplication();
    await edit(root, "app.ts", ["export default", "setInterval(() => {}, 1000);\nexport default"]);
    const { code, output } = await execute(root, process.execPath, [COMMAND, "make:deploy", "caddy"]);
    expect([code, output]).toEqual([0, expect.stringContaining("Created deploy/Caddyfile")]);
  });
});

describe("the application's settings", () => {
  test("its name, domain, port, body limit and times are in the files", async () => {
    const root = await generatedApplication({ database: "postgres" });
    await edit(root, "package.json", ['"name": "shop"', '"name": "@acme/corner_shop"']);
    await edit(root, ".env", ["PORT=3000", "PORT=8080"], ["APP_URL=", "APP_URL=https://corner.example"]);
    await edit(root, "config/app.ts", [
      "} satisfies",
      "  server: { drainSeconds: 30, shutdownTimeoutSeconds: 20, health: { up: '/live', ready: '/health/ready' } },\n} satisfies",
    ]);
    await edit(root, "routes/web.ts", [
      "...Auth.routes(AuthControllers),",
      '...Auth.routes(AuthControllers),\n  Route.post("/photos", () => "").bodyLimit("10mb"),',
    ]);
    expect(await ashlar(root, "make:deploy")).toMatchObject({ code: 0, errors: "" });
    const nginx = await read(root, "deploy/nginx.conf");
    expect(nginx).toContain("upstream corner-shop {");
    expect(nginx).toContain("server 127.0.0.1:8080 max_conns=256 max_fails=1 fail_timeout=12s;");
    expect(nginx).toContain("server 127.0.0.1:8081 max_conns=256 max_fails=1 fail_timeout=12s;");
    expect(nginx).toContain("keepalive_timeout 24s;");
    expect(nginx).toContain("client_max_body_size 20m;");
    expect(nginx).toContain("ssl_certificate /etc/letsencrypt/live/corner.example/fullchain.pem;");
    const unit = await read(root, "deploy/corner-shop@.service");
    expect(unit).toContain("TimeoutStopSec=60\n");
    expect(unit).toContain("WorkingDirectory=/srv/corner-shop/current\n");
    expect(unit).toContain("fetch('http://127.0.0.1:%i/health/ready')");
    expect(unit).not.toContain("ReadWritePaths");
    expect(await read(root, "deploy/Caddyfile")).toMatch(
      /^corner\.example \{[\s\S]*?health_uri \/health\/ready\n\t\thealth_interval 2s\n/m,
    );
    expect(await read(root, "deploy/haproxy.cfg")).toContain(
      "http-check send meth GET uri /health/ready ver HTTP/1.1 hdr Host corner.example",
    );
    expect(await read(root, "Dockerfile")).toMatch(/ PORT=8080\n[\s\S]*127\.0\.0\.1\/8080 .*GET \/live /);
    const compose = await read(root, "compose.yaml");
    expect(compose).toContain("name: corner-shop\n");
    expect(compose).toContain("stop_grace_period: 60s\n");
    // The option decides.
    await ashlar(root, "make:deploy", "caddy", "--domain", "www.corner.example", "--force");
    expect(await read(root, "deploy/Caddyfile")).toMatch(/^www\.corner\.example \{/m);
  });

  test("the files list the hosts of APP.hosts, or say that a function decides", async () => {
    const root = await generatedApplication();
    await writeFile(join(root, ".env"), `${await read(root, ".env")}\nAPP_HOSTS=*.shop.example,acme.example\n`);
    expect((await ashlar(root, "make:deploy", "nginx", "--domain", "shop.example")).errors).toBe("");
    expect(await read(root, "deploy/nginx.conf")).toContain("server_name shop.example *.shop.example acme.example;");
    const other = await generatedApplication();
    await edit(other, "config/app.ts", ["} satisfies", "  hosts: () => true,\n} satisfies"]);
    expect((await ashlar(other, "make:deploy", "nginx", "--domain", "shop.example")).errors).toBe("");
    expect(await read(other, "deploy/nginx.conf")).toContain("# APP.hosts is a function:");
    expect(await read(other, "deploy/nginx.conf")).toContain("server_name shop.example;");
  });

  test("without health paths, nothing requests them", async () => {
    const root = await generatedApplication();
    await edit(root, "config/app.ts", ["} satisfies", "  server: { health: false },\n} satisfies"]);
    await ashlar(root, "make:deploy");
    for (const file of FILES) expect(await read(root, file)).not.toMatch(/\/ready|\/up\b|health_|httpchk|HEALTHCHECK/);
  });

  test("the times are production's, whatever environment the command runs in", async () => {
    const root = await generatedApplication();
    await ashlar(root, "make:deploy", "haproxy", "nginx");
    expect(await read(root, "deploy/haproxy.cfg")).toContain("inter 1s fall 2 rise 1");
    expect(await read(root, "deploy/nginx.conf")).toContain("keepalive_timeout 4s;");
  });

  test("without a database, there is no database in the files", async () => {
    const root = await generatedApplication({ pages: false, api: false });
    await edit(root, "config/providers.ts", ["  DatabaseProvider,\n", ""], ["  AuthProvider,\n", ""]);
    expect(await ashlar(root, "make:deploy")).toMatchObject({ code: 0, errors: "" });
    expect(await read(root, "compose.yaml")).not.toMatch(/database|DATABASE|migrate/);
    expect(await read(root, "Dockerfile")).not.toContain("/data");
  });

  test("next steps name the packages that are missing for the services", async () => {
    const root = await generatedApplication({ database: "postgres" });
    const stepsOf = async (...flags: string[]): Promise<string> =>
      (await ashlar(root, "make:deploy", "compose", "--force", ...flags)).output;
    expect(await stepsOf()).toMatch(/package-lock\.json, which doesn't exist yet[\s\S]*Install ioredis/);
    expect(await stepsOf("--no-redis")).not.toContain("ioredis");
    await edit(root, "package.json", ['"pg":', '"ioredis": "^6.0.0",\n    "not-pg":']);
    await writeFile(join(root, "package-lock.json"), "{}");
    const steps = await stepsOf();
    expect(steps).toContain("Install pg.");
    expect(steps).not.toMatch(/Install ioredis|which doesn't exist yet/);
  });
});

test("the unit counts as started once /ready responds with 200, and waits until then", async () => {
  const root = await generatedApplication();
  await ashlar(root, "make:deploy", "systemd");
  const port = await freePort();
  const unit = await readUnit(join(root, "deploy/shop@.service"), String(port));
  const waits = startProcess(root, process.execPath, unit.command("ExecStartPost").slice(2));
  const asked: (string | undefined)[] = [];
  const server = createServer(({ url }, response) => {
    asked.push(url);
    response.writeHead(asked.length < 3 ? 503 : 200).end();
  });
  onTestFinished(() => void server.close());
  server.listen(port, "127.0.0.1");
  expect(await waits.ended).toEqual({ code: 0, signal: null });
  expect(asked).toEqual(["/ready", "/ready", "/ready"]);
});

withProgram("systemd-analyze", () => {
  test.each(["sqlite", "postgres"] as const)(
    "systemd reads the unit for %s without warnings, and rates it as confined",
    async (database) => {
      const root = await generatedApplication({ database });
      await ashlar(root, "make:deploy", "systemd");
      const file = join(root, "deploy/shop@.service");
      const verified = await execute(root, "systemd-analyze", ["verify", "--man=no", file]);
      expect([verified.code, verified.output.split("\n").filter((line) => line.includes("shop@"))]).toEqual([0, []]);
      // In tenths: 0 is fully confined, 100 is the whole machine.
      const security = await execute(root, "systemd-analyze", ["security", "--offline=true", "--threshold=20", file]);
      expect(security.code, security.output).toBe(0);
    },
  );
});
