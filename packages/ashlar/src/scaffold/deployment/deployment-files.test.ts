import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startProxy } from "../../../test/support/deployed-proxies.ts";
import { execute } from "../../../test/support/generated-application.ts";
import { proxyFacts } from "../../../test/support/proxy-facts.ts";
import { withProgram } from "../../../test/support/system-programs.ts";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { STUBS } from "../files/stub.ts";
import type { DeploymentFacts } from "./deployment-facts.ts";
import { DEPLOYMENT_KINDS, deployedName, deploymentFiles } from "./deployment-files.ts";

const FACTS: DeploymentFacts = proxyFacts(3000, {
  away: { language: "en", heading: "Not available", text: "Wait a moment.", again: "Try again" },
  tooLarge: { language: "en", heading: "Too much at once", text: "Send less.", again: null },
  domain: "shop.example",
  connection: "main",
  dialect: "postgres",
  redis: true,
});

async function filesFor(facts: Partial<DeploymentFacts>): Promise<ReadonlyMap<string, string>> {
  const root = folderWith({ "package.json": '{ "name": "shop" }' });
  const files = await deploymentFiles(root, DEPLOYMENT_KINDS, { ...FACTS, ...facts });
  return new Map(files.map(({ path, text }) => [path, text]));
}

describe.each(["sqlite", "postgres", "mariadb", "of-my-own", null])("on %s", (dialect) => {
  test.each([true, false])("every stub renders without leftover directives, with everything else %s", async (on) => {
    const files = await filesFor({ dialect, redis: on, up: on ? "/up" : null, ready: on ? "/ready" : null });
    // Without a database, there is nothing to migrate.
    const count = (await readdir(join(STUBS, "deploy"))).length - (dialect === null ? 1 : 0);
    expect(files.size).toBe(count);
    for (const [path, text] of files) expect([path, text]).toEqual([path, expect.not.stringMatching(/\/\/#|%\{/)]);
  });
});

test.each([
  [5, "4s", "2s", "1s"],
  [30, "24s", "12s", "2s"],
  [2, "1600ms", "1s", "400ms"],
  [0, "100ms", "1s", "100ms"],
])("with a drain of %i seconds, proxies notice the shutdown in time", async (drainSeconds, kept, leftOut, checked) => {
  const files = await filesFor({ drainSeconds });
  expect(files.get("deploy/nginx.conf")).toContain(`keepalive_timeout ${kept};`);
  expect(files.get("deploy/nginx.conf")).toContain(`fail_timeout=${leftOut};`);
  expect(files.get("deploy/Caddyfile")).toContain(`keepalive ${kept}\n`);
  expect(files.get("deploy/Caddyfile")).toContain(`health_interval ${checked}\n`);
  expect(files.get("deploy/haproxy.cfg")).toContain(`inter ${checked} fall 2`);
});

test("S196 uploads on disk have as much space as they may use, on a real disk rather than in memory", async () => {
  const told = async (facts: Partial<DeploymentFacts>) => {
    const files = await filesFor(facts);
    const lines = (path: string, pattern: RegExp) => files.get(path)!.match(pattern) ?? [];
    return [
      ...lines("compose.yaml", /^ {2}volumes: .*|TMPDIR: .*/gm),
      ...lines("deploy/kubernetes.yaml", /sizeLimit: \w+/g),
      ...lines("deploy/shop@.service", /^Environment=TMPDIR.*|^PrivateTmp.*/gm),
    ];
  };
  expect(await told({})).toEqual(["sizeLimit: 1Gi", "PrivateTmp=true"]);
  const unit = ["Environment=TMPDIR=/var/tmp", "PrivateTmp=true"];
  expect(await told({ uploadBytes: 8 * 1024 ** 3 })).toEqual([
    ...["TMPDIR: /var/tmp", "  volumes: [/var/tmp]", "sizeLimit: 9Gi"],
    ...unit,
  ]);
  expect(await told({ uploadBytes: 1, dialect: "sqlite" })).toEqual([
    ...["TMPDIR: /var/tmp", "  volumes: [data:/data, /var/tmp]", "sizeLimit: 2Gi"],
    ...unit,
  ]);
});

describe("S61 nginx, with routes that stream their bodies, or accept large ones", () => {
  const GIB = 1024 ** 3;
  const bodyPaths = [
    { pattern: "/photos/@album/?name:any", maxBytes: 20 * GIB, isStreamed: true },
    { pattern: "/shop/a.b", maxBytes: Number.POSITIVE_INFINITY, isStreamed: true },
    { pattern: "/films", maxBytes: GIB, isStreamed: false },
  ];

  test("has a location for each, and the usual limit for the rest, in Compose too", async () => {
    const files = await filesFor({ bodyPaths });
    for (const path of ["deploy/nginx.conf", "deploy/nginx.compose.conf"]) {
      const text = files.get(path)!;
      expect(text.match(/location .*|client_max_body_size .*|proxy_request_buffering .*/g)).toEqual([
        "client_max_body_size 2m;",
        "location / {",
        "location @away {",
        "location @too_large {",
        'location ~ "^/photos/[^/]+(?:/.+)?/?$" {',
        "client_max_body_size 40960m;",
        "proxy_request_buffering off;",
        'location ~ "^/shop/a\\.b/?$" {',
        "client_max_body_size 0;",
        "proxy_request_buffering off;",
        'location ~ "^/films/?$" {',
        "client_max_body_size 2048m;",
      ]);
    }
  });

  test("in Compose stores bodies on a disk, not in memory", async () => {
    const text = (await filesFor({ bodyPaths })).get("compose.yaml")!;
    const [nginx] = /^ {2}nginx:\n(?: {4}.*\n)+/m.exec(text)!;
    expect(nginx).toMatch(/^ {4}tmpfs: \[\/run\]$[\s\S]*^ {6}- \/var\/cache\/nginx$/m);
  });

  test("in Kubernetes keeps no body on disk, since its Ingress has one size for all paths", async () => {
    const sizes = async (facts: Partial<DeploymentFacts>) => {
      return (await filesFor(facts)).get("deploy/kubernetes.yaml")!.match(/proxy-(?:body-size|request-buffering): .*/g);
    };
    expect(await sizes({})).toEqual(['proxy-body-size: "2m"']);
    const off = 'proxy-request-buffering: "off"';
    expect(await sizes({ bodyPaths })).toEqual(['proxy-body-size: "0"', off]);
    expect(await sizes({ bodyPaths: bodyPaths.slice(0, 1) })).toEqual(['proxy-body-size: "40960m"', off]);
  });

  withProgram("nginx", () => {
    test("passes them on as they arrive, and buffers none for other paths", async () => {
      const arrived: string[] = [];
      const instance = createServer((request, response) => {
        arrived.push(`${request.url} ${request.headers["x-forwarded-proto"]}`);
        // The response arrives before the body has been sent.
        response.writeHead(403).end();
      });
      await new Promise<void>((listening) => void instance.listen(0, "127.0.0.1", listening));
      onTestFinished(() => void instance.close());
      const { port } = instance.address() as AddressInfo;
      const { secure } = await startProxy("nginx", (await filesFor({ port, bodyPaths })).get("deploy/nginx.conf")!);
      const begin = async (path: string): Promise<number | undefined> => {
        const headers = { host: "shop.example", "content-length": String(10 * GIB) };
        const connection = { host: "127.0.0.1", port: secure, servername: "shop.example", rejectUnauthorized: false };
        const sent = request({ ...connection, path, method: "POST", headers });
        sent.on("error", () => {});
        sent.write(Buffer.alloc(100_000));
        const [response] = (await once(sent, "response")) as [IncomingMessage];
        sent.destroy();
        return response.statusCode;
      };
      // nginx may not be listening yet.
      await vi.waitFor(() => begin("/up"));
      expect(await begin("/photos/1/a/b")).toBe(403);
      expect(await begin("/login")).toBe(413);
      expect(await begin("/photos")).toBe(413);
      expect(arrived).toEqual(["/photos/1/a/b https"]);
    });
  });
});

test("proxies accept the listed hosts, redirect each to itself, and say which certificate it needs", async () => {
  const files = await filesFor({ hosts: ["*.shop.example", "acme.example", "shop.example"] });
  for (const path of ["deploy/nginx.conf", "deploy/nginx.compose.conf"]) {
    const text = files.get(path)!;
    expect(text.match(/server_name .*/g)).toEqual(
      Array(2).fill("server_name shop.example *.shop.example acme.example;"),
    );
    expect(text).toContain("return 301 https://$host$request_uri;");
    expect(text.replaceAll(/^ +/gm, "")).toContain(
      "# The certificate must cover all of these names.\nssl_certificate /etc/letsencrypt/live/shop.example/",
    );
  }
  const caddy = files.get("deploy/Caddyfile")!;
  expect(caddy).toContain("\nshop.example, *.shop.example, acme.example {\n");
  expect(caddy).toContain("# For a wildcard name");
  const haproxy = files.get("deploy/haproxy.cfg")!;
  expect(haproxy).toContain("  acl own_host req.fhdr(host),regsub(:[0-9]+$,) -i shop.example acme.example\n");
  expect(haproxy).toContain("  acl own_host req.fhdr(host),regsub(:[0-9]+$,) -i -m end .shop.example\n");
  expect(haproxy).toContain("  http-request redirect scheme https code 301 unless { ssl_fc }\n");
  const named = (await filesFor({ hosts: ["acme.example"] })).get("deploy/Caddyfile")!;
  expect(named).not.toContain("wildcard");
});

test("proxies of one host redirect every name to it, and don't mention several", async () => {
  const files = await filesFor({});
  for (const path of ["deploy/nginx.conf", "deploy/nginx.compose.conf"]) {
    const text = files.get(path)!;
    expect(text.match(/server_name .*/g)).toEqual(Array(2).fill("server_name shop.example;"));
    expect(text).toContain("  return 301 https://shop.example$request_uri;\n");
    expect(text).not.toContain("The certificate must cover all of these names");
  }
  const haproxy = files.get("deploy/haproxy.cfg")!;
  expect(haproxy).toContain(
    "  http-request reject unless { req.fhdr(host),regsub(:[0-9]+$,) -i shop.example }\n" +
      "  http-request redirect prefix https://shop.example code 301 unless { ssl_fc }\n",
  );
  expect(haproxy).not.toContain("own_host");
});

test("proxies say what to add if a function decides about hosts, and don't mention it otherwise", async () => {
  const [files, plain] = [await filesFor({ hosts: null }), await filesFor({ hosts: ["shop.example"] })];
  for (const path of ["deploy/nginx.conf", "deploy/nginx.compose.conf", "deploy/Caddyfile", "deploy/haproxy.cfg"]) {
    expect(files.get(path)).toContain("# APP.hosts is a function:");
    expect(plain.get(path)).not.toContain("APP.hosts");
    const said = files
      .get(path)!
      .split("\n")
      .filter((line) => !plain.get(path)!.split("\n").includes(line));
    expect(said.every((line) => line.trim().startsWith("#"))).toBe(true);
  }
  expect(plain).toEqual(await filesFor({}));
});

withProgram("nginx", () => {
  test("nginx accepts the configuration for several hosts", async () => {
    const text = (await filesFor({ hosts: ["*.shop.example", "acme.example"] })).get("deploy/nginx.conf")!;
    await startProxy("nginx", text);
  });
});

withProgram("haproxy", () => {
  test("HAProxy accepts the configuration for several hosts", async () => {
    const text = (await filesFor({ hosts: ["*.shop.example", "acme.example"] })).get("deploy/haproxy.cfg")!;
    await startProxy("haproxy", text);
  });
});

withProgram("caddy", () => {
  test("Caddy accepts the configuration for several hosts", async () => {
    for (const hosts of [["*.shop.example", "acme.example"], null]) {
      const root = folderWith({ Caddyfile: (await filesFor({ hosts })).get("deploy/Caddyfile")! });
      const folders = { HOME: root, XDG_DATA_HOME: root, XDG_CONFIG_HOME: root };
      const { code, output } = await execute(
        root,
        "caddy",
        ["validate", "--adapter", "caddyfile", "--config", "Caddyfile"],
        folders,
      );
      expect(code, output).toBe(0);
    }
  });
});

test("a percent sign in the application's name is not a systemd specifier", async () => {
  const files = await filesFor({ title: "100 % Shop" });
  expect(files.get("deploy/shop@.service")).toContain("Description=100 %% Shop on port %i\n");
});

test.each([
  ["@acme/Corner_Shop", "corner-shop"],
  ["shop", "shop"],
])("the package %s is deployed as %s", async (name, deployed) => {
  expect(await deployedName(folderWith({ "package.json": JSON.stringify({ name }) }))).toBe(deployed);
});

test("what isn't committed isn't in an image either, in whichever folder it is", async () => {
  const ignored = await readFile(join(STUBS, "application/gitignore.stub"), "utf8");
  const left = (await filesFor({})).get(".dockerignore")!.split("\n");
  for (const pattern of ignored.trim().split("\n")) {
    if (pattern.startsWith("!")) continue;
    // By default, Docker matches a pattern only at the top level.
    const name = pattern
      .replace(/^database\//, "")
      .replace(/\/$/, "")
      .replace(/^\.env(?:\.\*)?$/, ".env*");
    expect(left).toContain(`**/${name}`);
  }
});
