import { readFileSync } from "node:fs";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { redisSessions } from "../../src/session/index.ts";
import { makeCertificate } from "../support/certificate.ts";
import { freePort } from "../support/free-port.ts";
import { emptyApplication } from "../support/redis-application.ts";
import { RedisServer } from "../support/redis-server.ts";
import { withProgram } from "../support/system-programs.ts";
import { folderWith } from "../support/temporary-folder.ts";

const OTHER_AUTHORITY = "next to the url, set tls.ca to the file of the authority";
const OTHER_NAME = "next to the url, set tls.servername to a name in the server's certificate";

/** The client doesn't say why it could not reach a Sentinel, or a node of a cluster. */
const HINT = "next to the url, tls.ca and tls.servername have to fit the certificates";
const SWALLOWED = [HINT, HINT];

withProgram("redis-server", () => {
  const NAME = "cache.shop.example";
  let certificate: string;
  let stranger: string;
  let files: readonly string[];

  /** Starts a server that encrypts what comes to a port, and returns that port. */
  async function encrypted(args: readonly string[] = []): Promise<{ port: number; server: RedisServer }> {
    const port = await freePort();
    const server = await RedisServer.start({ args: ["--tls-port", String(port), ...files, ...args] });
    onTestFinished(() => server.remove());
    return { port, server };
  }

  /** What a session store answers with these settings: `null`, or the message of the error. */
  async function read(url: string, tls?: object): Promise<unknown> {
    const { container } = await emptyApplication();
    const store = redisSessions({ url, commandTimeoutMs: 60_000, ...(tls && { tls }) })(container);
    try {
      return await store.read("one");
    } catch (error) {
      return (error as Error).message;
    } finally {
      await store.close();
    }
  }

  beforeEach(() => {
    const { key, chain } = makeCertificate(folderWith({}), NAME);
    certificate = chain;
    stranger = makeCertificate(folderWith({}), NAME).chain;
    const names = ["--tls-cert-file", chain, "--tls-key-file", key, "--tls-ca-cert-file", chain];
    files = [...names, "--tls-auth-clients", "no"];
  });

  /** The right authority and name connect; everything else is refused, with the setting to write. */
  async function expectVerified(url: string, hints = [OTHER_AUTHORITY, OTHER_NAME]): Promise<void> {
    const servername = NAME;
    expect(await read(url, { ca: readFileSync(certificate, "utf8"), servername }), "as PEM").toBeNull();
    expect(await read(url, { ca: certificate, servername }), "as a file").toBeNull();
    for (const tls of [undefined, { servername }, { ca: stranger, servername }]) {
      expect(await read(url, tls)).toContain(hints[0]);
    }
    expect(await read(url, { ca: certificate })).toContain(hints[1]);
  }

  test("S189 an encrypted connection needs a certificate from a known authority, for the requested host", async () => {
    const { port } = await encrypted();
    await expectVerified(`rediss://127.0.0.1:${port}`);
    // It may have been set for another server.
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    onTestFinished(() => void delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
    expect(await read(`rediss://127.0.0.1:${port}`)).toContain("DEPTH_ZERO_SELF_SIGNED_CERT");
  });

  test("S189 so do connections to Sentinels, and to the server that they name", async () => {
    const { port: server } = await encrypted();
    const port = await freePort();
    const file = (plain: number) => `
      port ${plain}
      tls-port ${port}
      tls-replication yes
      ${files.join(" ").replaceAll(" --", "\n").replace("--", "")}
      sentinel monitor main 127.0.0.1 ${server} 1`;
    const sentinel = await RedisServer.start({ file, args: ["--sentinel"] });
    onTestFinished(() => sentinel.remove());
    await expectVerified(`rediss+sentinel://127.0.0.1:${port}/main`, SWALLOWED);
  });

  test("S189 so do connections to a cluster's nodes", async () => {
    const cluster = [
      "--cluster-enabled",
      "yes",
      "--tls-cluster",
      "yes",
      "--cluster-announce-ip",
      "127.0.0.1",
      "--cluster-port",
      String(await freePort()),
    ];
    const { port, server } = await encrypted(cluster);
    await server.run("CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
    await expect.poll(async () => String(await server.run("CLUSTER", "INFO"))).toContain("cluster_state:ok");
    await expectVerified(`rediss-cluster://127.0.0.1:${port}`, SWALLOWED);
  });
});
