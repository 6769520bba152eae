// `make:deploy --max-requests`: how a proxy handles more requests than an instance gets at once.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { startProxy } from "../../../test/support/deployed-proxies.ts";
import { askProxy, proxyFacts } from "../../../test/support/proxy-facts.ts";
import { withProgram } from "../../../test/support/system-programs.ts";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import type { BodyPath } from "./deployment-facts.ts";
import { deploymentFiles } from "./deployment-files.ts";
import { type ProxyPage, proxyPage } from "./proxy-pages.ts";

const AWAY: ProxyPage = { language: "en", heading: "Away", text: "Wait.", again: "Try again" };

async function configuration(
  name: "nginx" | "haproxy",
  port: number,
  maxRequests: number | null,
  bodyPaths: readonly BodyPath[] = [],
): Promise<string> {
  const root = folderWith({ "package.json": '{ "name": "shop" }' });
  const facts = proxyFacts(port, { away: AWAY, tooLarge: AWAY, ready: null, maxRequests, bodyPaths });
  const [file] = await deploymentFiles(root, [name], facts);
  return file!.text;
}

/** An instance that responds to some paths only when the test tells it to. The other instance doesn't run. */
async function holding(): Promise<{ port: number; held: ServerResponse[] }> {
  const held: ServerResponse[] = [];
  const server = createServer(({ url }, response) => {
    if (url === "/held") held.push(response);
    else response.end("done");
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, held };
}

for (const name of ["nginx", "haproxy"] as const) {
  withProgram(name, () => {
    test(`${name} refuses excess requests with a page, and continues when there is capacity again`, async () => {
      const { port, held } = await holding();
      const { secure } = await startProxy(name, await configuration(name, port, 2));
      // The proxy may not be listening yet.
      await expect.poll(() => askProxy(secure, "/").then(textOf).catch(String)).toBe("done");
      const first = [askProxy(secure, "/held"), askProxy(secure, "/held")];
      await expect.poll(() => held.length).toBe(2);
      const refused = await askProxy(secure, "/held");
      expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([503, "5"]);
      expect(await textOf(refused)).toBe(proxyPage(AWAY));
      expect(held).toHaveLength(2);
      for (const response of held) response.end("late");
      expect(await Promise.all(first.map(async (one) => await textOf(await one)))).toEqual(["late", "late"]);
      await expect.poll(() => askProxy(secure, "/").then(textOf)).toBe("done");
    });
  });
}

withProgram("nginx", () => {
  test("nginx has capacity for other clients, however many send bodies slowly, even if it streams them", async () => {
    const { port, held } = await holding();
    const streamed = { pattern: "/held", maxBytes: 1024 ** 2, isStreamed: true };
    const { secure } = await startProxy("nginx", await configuration("nginx", port, 2, [streamed]));
    await expect.poll(() => askProxy(secure, "/").then(textOf).catch(String)).toBe("done");
    for (const path of ["/held", "/held", "/held", "/stored", "/stored", "/stored"]) {
      askProxy(secure, path, 900).catch(() => {});
    }
    await expect.poll(() => held.length).toBe(3);
    expect(await askProxy(secure, "/").then(textOf)).toBe("done");
  });
});

withProgram("haproxy", () => {
  test("HAProxy, which waits for no body, sends any number of requests to an instance unless told otherwise", async () => {
    const { port, held } = await holding();
    const { secure } = await startProxy("haproxy", await configuration("haproxy", port, null));
    await expect.poll(() => askProxy(secure, "/").then(textOf).catch(String)).toBe("done");
    for (let count = 0; count < 30; count++) {
      for (let each = 0; each < 10; each++) askProxy(secure, "/held", 900).catch(() => {});
      await expect.poll(() => held.length).toBe(10 * (count + 1));
    }
    expect(await askProxy(secure, "/").then(textOf)).toBe("done");
  });
});
