// What visitors see of the proxies themselves, with the configurations that `ashlar make:deploy` writes.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { text as textOf } from "node:stream/consumers";
import { expect, test } from "vitest";
import { HOST, type ProxyName, startProxy } from "../../../test/support/deployed-proxies.ts";
import { freePort } from "../../../test/support/free-port.ts";
import { withProgram } from "../../../test/support/system-programs.ts";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { deploymentFiles } from "./deployment-files.ts";
import { type ProxyPage, proxyPage } from "./proxy-pages.ts";

/** All that one of the proxies reads as something else. */
const NASTY = "\"Wait\" 'a' `moment` $host ${host} {http.request.uri} %[src] \\n <b> & خطأ\nagain";
const AWAY: ProxyPage = { language: "ar", heading: "Away", text: NASTY, again: NASTY };
const TOO_LARGE: ProxyPage = { language: "en", heading: "Too much", text: NASTY, again: null };
const FILES = { nginx: "nginx.conf", haproxy: "haproxy.cfg", caddy: "Caddyfile" } as const;

async function configuration(name: ProxyName): Promise<string> {
  const root = folderWith({ "package.json": '{ "name": "shop" }' });
  const facts = {
    ...{
      title: "Shop",
      away: AWAY,
      tooLarge: TOO_LARGE,
      domain: HOST,
      hosts: [],
      maxRequests: null,
      port: await freePort(),
    },
    ...{ up: "/up", ready: "/ready", drainSeconds: 5, shutdownSeconds: 10, secretPaths: [], maxBodyBytes: 1024 ** 2 },
    ...{ uploadBytes: 0, bodyPaths: [], connection: null, dialect: null, redis: false },
  };
  const [file] = await deploymentFiles(root, [name], facts);
  expect(file!.path).toBe(`deploy/${FILES[name]}`);
  return file!.text;
}

async function ask(port: number, length = 0): Promise<IncomingMessage> {
  const connection = { host: "127.0.0.1", port, servername: HOST, rejectUnauthorized: false, agent: false };
  const headers = { host: HOST, "content-length": String(length) };
  const sent = request({ ...connection, path: "/orders", method: length === 0 ? "GET" : "POST", headers });
  sent.on("error", () => {});
  if (length === 0) sent.end();
  else sent.flushHeaders();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

/** What a browser shows of a page: its text, with the entities that it has read. */
const shown = (html: string): string =>
  html.replaceAll(/<[^>]*>/g, "|").replaceAll(/&(?:#(\d+)|lt|gt|amp|quot|#39);/g, (entity, code?: string) => {
    const named: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"' };
    return code === undefined ? named[entity]! : String.fromCharCode(Number(code));
  });

for (const name of ["nginx", "haproxy", "caddy"] as const) {
  withProgram(name, () => {
    test(`${name} shows a page of the site's while no instance can be reached`, async () => {
      const { secure } = await startProxy(name, await configuration(name));
      // It may not listen yet.
      await expect.poll(() => ask(secure).then(({ statusCode }) => statusCode, String)).toBe(503);
      const response = await ask(secure);
      expect(response.headers).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "retry-after": "5",
        "cache-control": "no-store",
      });
      const page = await textOf(response);
      expect(page).toBe(proxyPage(AWAY));
      expect(page).toContain("<html lang='ar' dir='rtl'>");
      expect(shown(page)).toContain(`|Away||${NASTY.replace("\n", " ")}||`);
    });
  });
}

withProgram("nginx", () => {
  test("nginx says on a page that a body is larger than any route accepts", async () => {
    const { secure } = await startProxy("nginx", await configuration("nginx"));
    await expect.poll(() => ask(secure).then(({ statusCode }) => statusCode, String)).toBe(503);
    const response = await ask(secure, 3 * 1024 ** 2);
    expect([response.statusCode, response.headers["content-type"]]).toEqual([413, "text/html; charset=utf-8"]);
    expect(await textOf(response)).toBe(proxyPage(TOO_LARGE));
    response.destroy();
  });
});
