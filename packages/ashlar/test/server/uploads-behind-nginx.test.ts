import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bootApplication } from "../support/booted-application.ts";
import { ashlar } from "../support/command-line.ts";
import { HOST, startProxy } from "../support/deployed-proxies.ts";
import { freePort } from "../support/free-port.ts";
import { edit, generateApplication } from "../support/generated-application.ts";
import { withProgram } from "../support/system-programs.ts";

const MEBIBYTE = 1024 ** 2;
/** `UPLOADED_MIB=1024` sends 1 GiB. */
const UPLOADED_MIB = Number(process.env.UPLOADED_MIB ?? 64);
const BOUNDARY = "0123456789abcdef";

withProgram("nginx", () => {
  test(`S196 an upload of ${UPLOADED_MIB} MiB arrives through the generated configuration, and the application never holds it`, {
    timeout: 600_000,
  }, async () => {
    const { root, remove } = await generateApplication({ api: false });
    onTestFinished(remove);
    const port = await freePort(1);
    await edit(root, ".env", ["PORT=3000", `PORT=${port}`], ["APP_URL=", `APP_URL=https://${HOST}`]);
    await edit(root, "routes/web.ts", [
      "...Auth.routes(AuthControllers),",
      `...Auth.routes(AuthControllers),
  Route.post("/photos", async ({ request }) => ({
    size: request.file("photo")?.size,
    saved: await request.file("photo")?.moveTo("${root}/storage/photo"),
  })).withoutMiddleware("web").bodyLimit("2gb"),
  Route.post("/films", () => "saved").streamsFiles().bodyLimit("20gb"),
  Route.post("/pictures", () => "saved").streamsFiles(),`,
    ]);
    expect(await ashlar(root, "make:deploy")).toMatchObject({ code: 0, errors: "" });
    const configuration = await readFile(join(root, "deploy/nginx.conf"), "utf8");
    expect(configuration.match(/location ~ .*|client_max_body_size .*|proxy_request_buffering .*/g)).toEqual([
      "client_max_body_size 2m;",
      'location ~ "^/photos/?$" {',
      "client_max_body_size 4096m;",
      'location ~ "^/films/?$" {',
      "client_max_body_size 40960m;",
      "proxy_request_buffering off;",
      'location ~ "^/pictures/?$" {',
      "client_max_body_size 2m;",
      "proxy_request_buffering off;",
    ]);
    expect(await readFile(join(root, "compose.yaml"), "utf8")).toContain("TMPDIR: /var/tmp");
    const { application, end } = await bootApplication(root);
    onTestFinished(end);
    await application.listen({ port, hostname: "127.0.0.1", handleSignals: false });
    const { secure } = await startProxy("nginx", configuration);
    const listens = async () => {
      const socket = connect(secure, "127.0.0.1");
      const isOpen = await once(socket, "connect").then(
        () => true,
        () => false,
      );
      socket.destroy();
      return isOpen;
    };
    await expect.poll(listens).toBe(true);

    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="photo"; filename="photo"\r\n\r\n`;
    const ending = `\r\n--${BOUNDARY}--\r\n`;
    const outgoing = request({
      ...{ port: secure, host: "127.0.0.1", servername: HOST, rejectUnauthorized: false },
      ...{ method: "POST", path: "/photos", agent: false },
      headers: {
        host: HOST,
        "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
        "content-length": head.length + UPLOADED_MIB * MEBIBYTE + ending.length,
      },
    });
    const answered = once(outgoing, "response");
    const first = process.memoryUsage.rss();
    let [held, rss] = [0, 0];
    const watch = setInterval(() => {
      held = Math.max(held, application.serving.bodies.usage.memoryBytes);
      rss = Math.max(rss, process.memoryUsage.rss() - first);
    }, 1);
    const chunk = Buffer.alloc(MEBIBYTE, "0123456789abcdef");
    outgoing.write(head);
    for (let sent = 0; sent < UPLOADED_MIB; sent++) if (!outgoing.write(chunk)) await once(outgoing, "drain");
    outgoing.end(ending);
    const [response] = await answered;
    let body = "";
    for await (const piece of response) body += piece;
    clearInterval(watch);
    const saved = join(root, "storage/photo");
    expect([response.statusCode, JSON.parse(body)]).toEqual([200, { size: UPLOADED_MIB * MEBIBYTE, saved }]);
    expect((await stat(saved)).size).toBe(UPLOADED_MIB * MEBIBYTE);
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThanOrEqual(2 * MEBIBYTE + 65_536);
    await expect.poll(() => application.serving.bodies.usage).toEqual({ memoryBytes: 0, diskBytes: 0 });
    if (process.env.UPLOADED_MIB) console.log(`held: ${held} bytes; more memory: ${rss} bytes`);
  });
});
