// The pages that the proxies themselves send to visitors, with the configurations from `ashlar make:deploy`.
import type { IncomingMessage } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { expect, test } from "vitest";
import { type ProxyName, startProxy } from "../../../test/support/deployed-proxies.ts";
import { freePort } from "../../../test/support/free-port.ts";
import { askProxy, proxyFacts } from "../../../test/support/proxy-facts.ts";
import { withProgram } from "../../../test/support/system-programs.ts";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { deploymentFiles } from "./deployment-files.ts";
import { type ProxyPage, proxyPage } from "./proxy-pages.ts";

/** All characters that have a special meaning in one of the proxies. */
const NASTY = "\"Wait\" 'a' `moment` $host ${host} {http.request.uri} %[src] \\n <b> & خطأ\nagain";
const AWAY: ProxyPage = { language: "ar", heading: "Away", text: NASTY, again: NASTY };
const TOO_LARGE: ProxyPage = { language: "en", heading: "Too much", text: NASTY, again: null };
const FILES = { nginx: "nginx.conf", haproxy: "haproxy.cfg", caddy: "Caddyfile" } as const;

async function configuration(name: ProxyName): Promise<string> {
  const root = folderWith({ "package.json": '{ "name": "shop" }' });
  const facts = proxyFacts(await freePort(), { away: AWAY, tooLarge: TOO_LARGE });
  const [file] = await deploymentFiles(root, [name], facts);
  expect(file!.path).toBe(`deploy/${FILES[name]}`);
  return file!.text;
}

const ask = (port: number, length = 0): Promise<IncomingMessage> => askProxy(port, "/orders", length);

/** The text that a browser shows for a page, with decoded entities. */
const shown = (html: string): string =>
  html.replaceAll(/<[^>]*>/g, "|").replaceAll(/&(?:#(\d+)|lt|gt|amp|quot|#39);/g, (entity, code?: string) => {
    const named: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"' };
    return code === undefined ? named[entity]! : String.fromCharCode(Number(code));
  });

for (const name of ["nginx", "haproxy", "caddy"] as const) {
  withProgram(name, () => {
    test(`${name} shows a page of the site while no instance can be reached`, async () => {
      const { secure } = await startProxy(name, await configuration(name));
      // The proxy may not be listening yet.
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
