import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bootApplication } from "../support/booted-application.ts";
import { ashlar } from "../support/command-line.ts";
import { HOST, type ProxyName, startProxy } from "../support/deployed-proxies.ts";
import { freePort } from "../support/free-port.ts";
import { edit, generateApplication } from "../support/generated-application.ts";
import { withProgram } from "../support/system-programs.ts";

const FILES = { nginx: "nginx.conf", caddy: "Caddyfile", haproxy: "haproxy.cfg" } as const;

let root: string;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  const generated = await generateApplication({ api: false });
  root = generated.root;
  ends.push(generated.remove);
  const port = await freePort(1);
  await edit(root, ".env", ["PORT=3000", `PORT=${port}`], ["APP_URL=", `APP_URL=https://${HOST}`]);
  await edit(root, "routes/web.ts", [
    "...Auth.routes(AuthControllers),",
    `...Auth.routes(AuthControllers),
  Route.post("/films/@name", async ({ request }) => {
    let size = 0;
    for await (const chunk of request.bodyStream()) {
      size += chunk.length;
      await writeFile(\`${root}/\${request.param("name")}\`, "begun");
    }
    return { size };
  }).withoutMiddleware("web").streamsBody(),
  Route.post("/pictures/@name", async ({ request }) => {
    let size = 0;
    for await (const part of request.parts()) {
      for await (const chunk of part.stream()) {
        size += chunk.length;
        await writeFile(\`${root}/\${request.param("name")}\`, "begun");
      }
    }
    return { size };
  }).withoutMiddleware("web").streamsFiles(),`,
  ]);
  await edit(root, "routes/web.ts", ["import ", 'import { writeFile } from "node:fs/promises";\nimport ']);
  expect(await ashlar(root, "make:deploy")).toMatchObject({ code: 0, errors: "" });
  const { application, end } = await bootApplication(root);
  ends.unshift(end);
  await application.listen({ port, hostname: "127.0.0.1", handleSignals: false });
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** Waits until a proxy listens. */
async function listening(port: number): Promise<void> {
  const isOpen = async (): Promise<boolean> => {
    const socket = connect(port, "127.0.0.1");
    const opened = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    return opened;
  };
  await expect.poll(isOpen).toBe(true);
}

const BOUNDARY = "0123456789abcdef";
const HEAD = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="photo"; filename="photo"\r\n\r\n`;
const END = `\r\n--${BOUNDARY}--\r\n`;
const PIECE = Buffer.alloc(100_000, "0123456789abcdef");

/** Sends half of a body, and the rest once the handler has seen some of it. */
async function upload(
  port: number,
  path: string,
  type: string,
  [first, last]: readonly [Buffer, Buffer],
): Promise<unknown> {
  const outgoing = request({
    ...{ port, host: "127.0.0.1", servername: HOST, rejectUnauthorized: false, agent: false },
    ...{ method: "POST", path },
    headers: { host: HOST, "content-type": type, "content-length": first.length + last.length },
  });
  const answered = once(outgoing, "response");
  outgoing.write(first);
  await expect.poll(() => existsSync(join(root, path.split("/")[2]!)), { timeout: 10_000 }).toBe(true);
  outgoing.end(last);
  const [response] = await answered;
  let text = "";
  for await (const piece of response) text += piece;
  return [response.statusCode, JSON.parse(text)];
}

const begun = Buffer.concat([Buffer.from(HEAD), PIECE]);

for (const name of Object.keys(FILES) as ProxyName[]) {
  withProgram(name, () => {
    test("S183 a streamed body reaches its handler while the client still sends it", async () => {
      const { secure } = await startProxy(name, await readFile(join(root, "deploy", FILES[name]), "utf8"));
      await listening(secure);
      const raw = await upload(secure, `/films/${name}-body`, "video/mp4", [PIECE, PIECE]);
      expect(raw).toEqual([200, { size: 2 * PIECE.length }]);
      const type = `multipart/form-data; boundary=${BOUNDARY}`;
      const form = await upload(secure, `/pictures/${name}-file`, type, [begun, Buffer.from(END)]);
      expect(form).toEqual([200, { size: PIECE.length }]);
    });
  });
}
