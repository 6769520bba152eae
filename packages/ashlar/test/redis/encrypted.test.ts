import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { redisSessions } from "../../src/session/index.ts";
import { freePort } from "../support/free-port.ts";
import { emptyApplication } from "../support/redis-application.ts";
import { RedisServer } from "../support/redis-server.ts";
import { withProgram } from "../support/system-programs.ts";
import { folderWith } from "../support/temporary-folder.ts";

withProgram("redis-server", () => {
  test("an encrypted connection needs a certificate of an authority that is known, for the host that is asked", async () => {
    const folder = folderWith({});
    const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
    execFileSync("openssl", [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
      ...[
        "-subj",
        "/CN=cache",
        "-addext",
        "subjectAltName=DNS:cache.shop.example",
        "-keyout",
        key,
        "-out",
        certificate,
      ],
    ]);
    const port = await freePort();
    const files = ["--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate];
    const server = await RedisServer.start({
      args: ["--tls-port", String(port), "--tls-auth-clients", "no", ...files],
    });
    onTestFinished(() => server.remove());
    const { container } = await emptyApplication();
    const read = async (scheme: string, tls?: object) => {
      const settings = { url: `${scheme}://127.0.0.1:${port}`, commandTimeoutMs: 60_000, ...(tls && { tls }) };
      const store = redisSessions(settings)(container);
      try {
        return await store.read("one");
      } catch (error) {
        return (error as Error).message;
      } finally {
        await store.close();
      }
    };
    const ca = readFileSync(certificate, "utf8");
    expect(await read("rediss", { ca, servername: "cache.shop.example" })).toBeNull();
    expect(await read("rediss")).toContain("DEPTH_ZERO_SELF_SIGNED_CERT");
    expect(await read("rediss", { ca })).toContain("ERR_TLS_CERT_ALTNAME_INVALID");
  });
});
