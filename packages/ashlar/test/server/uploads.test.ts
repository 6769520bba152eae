import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { dirname, join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test } from "vitest";
import { Route } from "../../src/routing/index.ts";
import { ask, json } from "../support/dispatched.ts";
import { rawSocket } from "../support/raw-socket.ts";
import { makeDisk, withSmallDisk } from "../support/small-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { fileOf, filesIn, formOf, openForm, uploadShop } from "../support/upload-shop.ts";

const MEBIBYTE = 1024 ** 2;
/** `UPLOADED_MIB=1024` sends 1 GiB. */
const UPLOADED_MIB = Number(process.env.UPLOADED_MIB ?? 64);
const KILOBYTE = { maxFormMemoryBytes: 1000 };
const post = (body: FormData): RequestInit => ({ method: "POST", body });

describe("S197 a file that is too large for the memory", () => {
  test("is on disk only for its request, under a name that the request can't influence", async () => {
    const seen: string[] = [];
    let modes: number[] = [];
    const route = Route.post("/photos", async ({ request }) => {
      seen.push(...(await shop.files()));
      modes = await Promise.all(seen.map(async (path) => (await stat(path)).mode & 0o777));
      const photo = request.file("photo");
      return { name: photo?.name, size: photo?.size, type: photo?.type, title: request.input("title") };
    });
    const shop = await uploadShop([route], { limits: KILOBYTE });
    const body = formOf(["title", "Sea"], ["photo", fileOf(20_000, "../../etc/photo.jpg")]);
    const answer = await fetch(`${shop.server.url}photos`, post(body));
    expect(await answer.json()).toEqual({ name: "photo.jpg", size: 20_000, type: "image/jpeg", title: "Sea" });
    expect(seen).toEqual([expect.stringMatching(/\/ashlar-uploads-[\da-f]{8}-\w{6}\/[\da-f-]{36}$/)]);
    expect(modes).toEqual([0o600]);
    await expect.poll(shop.files).toEqual([]);
    expect(shop.application.serving.bodies.usage).toEqual({ memoryBytes: 0, diskBytes: 0 });
  });

  test("can be read in every way, more than once, and by schemas and forms that take a File", async () => {
    const route = Route.post("/photos", async ({ request }) => {
      const photo = request.file("photo")!;
      const copy = new FormData();
      copy.append("again", photo, "other.jpg");
      let streamed = 0;
      for await (const piece of photo.stream()) streamed += piece.length;
      return {
        isFile: photo instanceof File,
        text: (await photo.text()).slice(0, 12),
        bytes: (await photo.bytes()).length,
        slice: await photo.slice(10, 15).text(),
        streamed,
        copied: (await (copy.get("again") as File).bytes()).length,
        onDisk: (await shop.files()).length,
      };
    });
    const shop = await uploadShop([route], { limits: KILOBYTE });
    const answer = await fetch(`${shop.server.url}photos`, post(formOf(["photo", fileOf(20_000)])));
    expect(await answer.json()).toEqual({
      isFile: true,
      text: "012345678901",
      bytes: 20_000,
      slice: "01234",
      streamed: 20_000,
      copied: 20_000,
      onDisk: 1,
    });
  });

  test("leaves the form's small files in memory until there are too many", async () => {
    const route = Route.post("/photos", async ({ request }) => {
      const sizes = await Promise.all(request.files("photo").map(async (file) => (await file.bytes()).length));
      return {
        sizes,
        onDisk: (await Promise.all((await shop.files()).map((path) => stat(path)))).map(({ size }) => size).sort(),
      };
    });
    const shop = await uploadShop([route], { limits: KILOBYTE });
    const send = async (...sizes: readonly number[]) => {
      const files = sizes.map((size) => ["photo", fileOf(size)] as const);
      const answer = await (await fetch(`${shop.server.url}photos`, post(formOf(...files)))).json();
      await expect.poll(shop.files).toEqual([]);
      return answer;
    };
    expect(await send(400, 600)).toEqual({ sizes: [400, 600], onDisk: [] });
    expect(await send(400, 601, 0)).toEqual({ sizes: [400, 601, 0], onDisk: [601] });
    expect(await send(5000, 900, 200)).toEqual({ sizes: [5000, 900, 200], onDisk: [200, 5000] });
  });

  test("is moved without being written again, with the permissions of a new file, and copied if moved again", async () => {
    const folder = await temporaryFolder();
    const [one, two] = [join(folder, "new/one.jpg"), join(folder, "two.jpg")];
    const route = Route.post("/photos", async ({ request }) => {
      const photo = request.file("photo")!;
      const [path] = await shop.files();
      const before = await stat(path!);
      expect(await photo.moveTo(one)).toBe(one);
      expect(await photo.moveTo(two)).toBe(two);
      expect((await stat(one)).ino).toBe(before.ino);
      expect((await stat(two)).ino).not.toBe(before.ino);
      return { readable: (await photo.bytes()).length };
    });
    const shop = await uploadShop([route], { limits: KILOBYTE });
    const answer = await fetch(`${shop.server.url}photos`, post(formOf(["photo", fileOf(20_000)])));
    expect(await answer.json()).toEqual({ readable: 20_000 });
    await expect.poll(shop.files).toEqual([]);
    const own = join(folder, "own");
    await writeFile(own, "");
    for (const path of [one, two]) {
      expect((await readFile(path)).length).toBe(20_000);
      expect((await stat(path)).mode).toBe((await stat(own)).mode);
    }
  });

  test("replaces a file only if asked to, and never shows half of itself", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "photo.jpg");
    await writeFile(path, "old");
    const route = Route.post("/photos/@how", async ({ request }) => {
      await request.file("photo")!.moveTo(`${folder}/`, { overwrite: request.param("how") === "over" });
      return "moved";
    });
    const shop = await uploadShop([route], { limits: KILOBYTE });
    const send = (how: string) => fetch(`${shop.server.url}photos/${how}`, post(formOf(["photo", fileOf(20_000)])));
    expect((await send("new")).status).toBe(500);
    expect(shop.logged).toEqual([expect.objectContaining({ code: "E_FILE_EXISTS" })]);
    expect(await readFile(path, "utf8")).toBe("old");
    expect((await send("over")).status).toBe(200);
    expect((await stat(path)).size).toBe(20_000);
    expect(await readdir(folder)).toEqual(["photo.jpg"]);
  });

  test("is deleted after the response, and moving it then is an error", async () => {
    const { promise: late, resolve } = Promise.withResolvers<unknown>();
    const route = Route.post("/photos", ({ request }) => {
      const photo = request.file("photo")!;
      const gone = expect.poll(shop.files).toEqual([]);
      gone.then(() => photo.moveTo(`${shop.uploads}/late`)).then(resolve, resolve);
      return "early";
    });
    const shop = await uploadShop([route], { limits: KILOBYTE });
    await (await fetch(`${shop.server.url}photos`, post(formOf(["photo", fileOf(20_000)])))).text();
    expect(await late).toMatchObject({ code: "E_INTERNAL", message: expect.stringContaining("Call moveTo()") });
    expect(existsSync(`${shop.uploads}/late`)).toBe(false);
  });

  test("is removed if its handler fails, if the form is malformed, and if it has one file too many", async () => {
    const failing = Route.post("/photos", () => {
      throw new Error("broken");
    });
    const shop = await uploadShop([failing], { limits: { ...KILOBYTE, maxFiles: 2 } });
    const send = (body: FormData | string, headers = {}) =>
      fetch(`${shop.server.url}photos`, { method: "POST", body, headers });
    const photos = (count: number) => formOf(...Array.from({ length: count }, () => ["photo", fileOf(5000)] as const));
    expect((await send(photos(1))).status).toBe(500);
    expect((await send(photos(3))).status).toBe(400);
    const cut = `--B\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n${"x".repeat(5000)}`;
    expect((await send(cut, { "content-type": "multipart/form-data; boundary=B" })).status).toBe(400);
    await expect.poll(shop.files).toEqual([]);
    expect(shop.application.serving.bodies.usage).toEqual({ memoryBytes: 0, diskBytes: 0 });
  });

  test("is removed if its client disconnects, while it arrives or while it is handled", async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
    let handled: number | null = null;
    const route = Route.post("/photos", async ({ request }) => {
      begin();
      await goOn;
      handled = (await request.file("photo")!.bytes()).length;
      return "never read";
    });
    const shop = await uploadShop([route], { limits: KILOBYTE });
    const { port } = shop.server;
    const half = rawSocket(port, `${openForm("/photos", 100_000)}${"x".repeat(50_000)}`);
    await expect.poll(shop.files).toHaveLength(1);
    half.socket.destroy();
    await expect.poll(shop.files).toEqual([]);
    const whole = httpRequest({ port, host: "127.0.0.1", method: "POST", path: "/photos", agent: false });
    const { body, headers } = new Request("http://x/", post(formOf(["photo", fileOf(20_000)])));
    whole.on("error", () => {}).setHeader("content-type", headers.get("content-type")!);
    for await (const piece of body!) whole.write(piece);
    whole.end();
    await begun;
    whole.destroy();
    // The handler can finish its work.
    expect(await shop.files()).toHaveLength(1);
    release();
    await expect.poll(() => handled).toBe(20_000);
    await expect.poll(shop.files).toEqual([]);
    expect(shop.application.serving.bodies.usage).toEqual({ memoryBytes: 0, diskBytes: 0 });
  });

  test("is removed by a shutdown, with the folder", async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const route = Route.post("/photos", () => {
      begin();
      return new Promise(() => {});
    });
    const shop = await uploadShop([route], { limits: KILOBYTE, server: { shutdownTimeoutSeconds: 0.1 } });
    const sent = fetch(`${shop.server.url}photos`, post(formOf(["photo", fileOf(20_000)]))).catch(() => null);
    await begun;
    const [path] = await shop.files();
    await shop.application.shutdown();
    await sent;
    expect([existsSync(path!), existsSync(dirname(path!))]).toEqual([false, false]);
  });

  test("goes through fetch in the same way, and stays until the response that reads it has been read", async () => {
    const route = Route.post("/photos", ({ request, response }) => response.stream(request.file("photo")!.stream()));
    const plain = Route.post("/plain", ({ request }) => ({ size: request.file("photo")!.size }));
    const { application, files } = await uploadShop([route, plain], { limits: KILOBYTE });
    const sent = () => post(formOf(["photo", fileOf(20_000)]));
    expect((await ask(application, "/photos", sent())).body).toHaveLength(20_000);
    await expect.poll(files).toEqual([]);
    expect((await ask(application, "/plain", sent())).body).toBe('{"size":20000}');
    await expect.poll(files).toEqual([]);
    const left = await application.fetch(new Request("http://localhost/photos", sent()));
    await left.body!.cancel();
    await expect.poll(files).toEqual([]);
    expect(application.serving.bodies.usage).toEqual({ memoryBytes: 0, diskBytes: 0 });
  });

  test(`of ${UPLOADED_MIB} MiB is never in memory`, { timeout: 600_000 }, async () => {
    const folder = await temporaryFolder();
    const route = Route.post("/photos", async ({ request }) => {
      const path = await request.file("photo")!.moveTo(join(folder, "photo"));
      return { size: (await stat(path)).size };
    }).bodyLimit("2gb");
    const shop = await uploadShop([route], { server: { requestTimeoutSeconds: 600 } });
    const { port } = shop.server;
    const length = 200 + UPLOADED_MIB * MEBIBYTE;
    const head = openForm("/photos", length);
    const { socket, closed } = rawSocket(port, head.replace("Host: x", "Host: x\r\nConnection: close"));
    const boundary = /boundary=(\S+)/.exec(head)![1]!;
    const chunk = Buffer.alloc(MEBIBYTE, "0123456789abcdef");
    const first = process.memoryUsage.rss();
    let [held, rss] = [0, 0];
    for (let sent = 0; sent < UPLOADED_MIB; sent++) {
      if (!socket.write(chunk)) await once(socket, "drain");
      held = Math.max(held, shop.application.serving.bodies.usage.memoryBytes);
      rss = Math.max(rss, process.memoryUsage.rss() - first);
    }
    const ending = `\r\n--${boundary}--\r\n`;
    const written = head.length - head.indexOf("\r\n\r\n") - 4;
    socket.write(ending + "x".repeat(length - written - UPLOADED_MIB * MEBIBYTE - ending.length));
    expect(await closed).toContain(`{"size":${UPLOADED_MIB * MEBIBYTE}}`);
    // The beginning stays in memory until there is more.
    expect(held).toBeLessThanOrEqual(2 * MEBIBYTE + 65_536);
    await expect.poll(shop.files).toEqual([]);
    if (process.env.UPLOADED_MIB) console.log(`held: ${held} bytes; more memory: ${rss} bytes`);
  });
});

describe("S196 the space that all requests' bodies use", () => {
  /** A route whose handler waits until it is released. */
  function waiting(path: string) {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
    const handler = async () => {
      begin();
      await goOn;
      return "done";
    };
    return { route: Route.post(path, handler).bodyLimit("1mb"), begun, release };
  }

  test("on disk is limited, and beyond the limit a form is refused before its body is requested", async () => {
    const { route, begun, release } = waiting("/photos");
    const limits = { ...KILOBYTE, maxMultipartBytes: 400_000, maxDiskBytes: 500_000 };
    const shop = await uploadShop([route], { limits });
    const first = fetch(`${shop.server.url}photos`, post(formOf(["photo", fileOf(300_000)])));
    await begun;
    expect(shop.application.serving.bodies.usage.diskBytes).toBe(300_000);
    const refused = rawSocket(shop.server.port, openForm("/photos", 300_000, "Expect: 100-continue\r\n"));
    await expect.poll(refused.received).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 5/i);
    expect(refused.received()).not.toContain("100 Continue");
    expect(JSON.stringify(shop.logged)).toContain("APP.limits.maxDiskBytes");
    // Forms without files, or with small ones, need no disk space.
    const small = fetch(`${shop.server.url}photos`, post(formOf(["photo", fileOf(500)])));
    release();
    expect((await (await first).text()) + (await (await small).text())).toBe("donedone");
    await expect.poll(() => shop.application.serving.bodies.usage).toEqual({ memoryBytes: 0, diskBytes: 0 });
    expect((await fetch(`${shop.server.url}photos`, post(formOf(["photo", fileOf(300_000)])))).status).toBe(200);
  });

  test("in memory is limited, JSON and forms count until their response, and logins have room", async () => {
    const { route, begun, release } = waiting("/data");
    const limits = { ...KILOBYTE, maxBodyBytes: 400_000, maxMemoryBytes: 500_000 };
    const login = Route.post("/login", ({ request }) => ({ name: request.input("name") }));
    const shop = await uploadShop([route, login], { limits });
    const first = fetch(`${shop.server.url}data`, json("x".repeat(300_000)));
    await begun;
    expect(shop.application.serving.bodies.usage.memoryBytes).toBe(300_002);
    const second = await fetch(`${shop.server.url}data`, json("x".repeat(300_000)));
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, "5"]);
    const pieces = ReadableStream.from([Buffer.alloc(150_000, "a"), Buffer.alloc(150_000, "a")]);
    const unannounced = { method: "POST", body: pieces, duplex: "half" } as RequestInit;
    expect((await fetch(`${shop.server.url}data`, unannounced)).status).toBe(503);
    expect(await (await fetch(`${shop.server.url}login`, json({ name: "Ada" }))).json()).toEqual({ name: "Ada" });
    release();
    expect(await (await first).text()).toBe("done");
    await expect.poll(() => shop.application.serving.bodies.usage.memoryBytes).toBe(0);
  });

  /** Sends a request's headers with `Expect: 100-continue`, and returns the beginning of the response. */
  const asked = async (port: number, head: string) => {
    const { received, socket } = rawSocket(port, head);
    await expect.poll(received).toContain("\r\n\r\n");
    socket.destroy();
    return received();
  };

  test("in memory is limited before anything is sent, except for forms with large files", async () => {
    const { route, begun, release } = waiting("/data");
    const limits = { ...KILOBYTE, maxBodyBytes: 400_000, maxMultipartBytes: 400_000, maxMemoryBytes: 500_000 };
    const shop = await uploadShop([route], { limits });
    const first = fetch(`${shop.server.url}data`, json("x".repeat(300_000)));
    await begun;
    const fields = "Content-Type: application/json\r\nContent-Length: 300000\r\nExpect: 100-continue\r\n";
    const refused = await asked(shop.server.port, `POST /data HTTP/1.1\r\nHost: x\r\n${fields}\r\n`);
    expect(refused).toMatch(/^HTTP\/1\.1 503 /);
    // It uses the disk instead.
    const form = await asked(shop.server.port, openForm("/data", 300_000, "Expect: 100-continue\r\n"));
    expect(form).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    release();
    await (await first).text();
    await expect.poll(() => shop.application.serving.bodies.usage).toEqual({ memoryBytes: 0, diskBytes: 0 });
  });

  test("on disk is not used by a form whose files stay in memory", async () => {
    const { route, begun, release } = waiting("/photos");
    const limits = { maxFormMemoryBytes: 200_000, maxMultipartBytes: 300_000, maxDiskBytes: 300_000 };
    const { server } = await uploadShop([route], { limits });
    const first = fetch(`${server.url}photos`, post(formOf(["photo", fileOf(290_000)])));
    await begun;
    const ask = (length: number) => asked(server.port, openForm("/photos", length, "Expect: 100-continue\r\n"));
    expect(await ask(200_000)).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    expect(await ask(200_001)).toMatch(/^HTTP\/1\.1 503 /);
    release();
    expect(await (await first).text()).toBe("done");
  });

  test("is released when a body turns out to be too large", async () => {
    const { route } = waiting("/data");
    const shop = await uploadShop([route], { limits: { maxMemoryBytes: 2 * MEBIBYTE } });
    const { socket, closed } = rawSocket(
      shop.server.port,
      "POST /data HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    for (let sent = 0; sent < 20; sent++) socket.write(chunk);
    expect(await closed).toMatch(/^HTTP\/1\.1 413 /);
    expect(shop.application.serving.bodies.usage.memoryBytes).toBe(0);
  });
});

describe("S196 the parts of a body that a client chooses", () => {
  const FIELD = 'Content-Disposition: form-data; name="text"\r\n\r\n';
  const FILE = 'Content-Disposition: form-data; name="photo"; filename="photo"\r\n\r\n';
  const opened = (type: string, start: string) =>
    `POST /data HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n` +
    `${start.length.toString(16)}\r\n${start}\r\n`;
  const formWith = (head: string) => opened("multipart/form-data; boundary=B", `--B\r\n${head}`);
  const route = Route.post("/data", ({ request }) => Object.keys(request.all())).bodyLimit("1gb");

  test.each([
    ["JSON", opened("application/json", '"')],
    ["a form", opened("application/x-www-form-urlencoded", "text=")],
    ["a field of a form with files", formWith(FIELD)],
    ["a file", formWith(FILE)],
  ])("counts in full, even if %s comes in one-byte pieces", async (_, start) => {
    const limits = { maxFormMemoryBytes: MEBIBYTE };
    const { server, application } = await uploadShop([route], { limits });
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const { socket } = rawSocket(server.port, start);
    await expect.poll(() => application.serving.bodies.usage.memoryBytes).toBeGreaterThan(0);
    collect();
    const before = process.memoryUsage();
    socket.write("1\r\na\r\n".repeat(200_000));
    await expect
      .poll(() => application.serving.bodies.usage.memoryBytes, { timeout: 30_000 })
      .toBeGreaterThanOrEqual(200_000);
    collect();
    const after = process.memoryUsage();
    const growth = after.heapUsed + after.external - before.heapUsed - before.external;
    expect(growth).toBeLessThan(8 * MEBIBYTE);
    socket.destroy();
  });

  test("is refused if the text fields of a form are too large, though its files might be", async () => {
    const { server, application } = await uploadShop([route], { limits: { maxBodyBytes: MEBIBYTE } });
    const { socket, closed } = rawSocket(server.port, formWith(FIELD));
    for (let sent = 0; sent < 40; sent++) socket.write(`10000\r\n${"x".repeat(65_536)}\r\n`);
    expect(await closed).toMatch(/^HTTP\/1\.1 413 /);
    expect(application.serving.bodies.usage).toEqual({ memoryBytes: 0, diskBytes: 0 });
  });

  test("counts while it arrives, even in a form with streamed files", async () => {
    const films = Route.post("/data", () => "done").streamsFiles();
    const { server, application } = await uploadShop([films], {});
    const { socket } = rawSocket(server.port, formWith(FIELD));
    socket.write(`30000\r\n${"x".repeat(196_608)}\r\n`);
    await expect.poll(() => application.serving.bodies.usage.memoryBytes).toBeGreaterThan(190_000);
    socket.destroy();
    await expect.poll(() => application.serving.bodies.usage.memoryBytes).toBe(0);
  });
});

withSmallDisk("S197 on a disk that is full", () => {
  test("an upload gets 503, is logged, leaves nothing behind, and the next one is served", async () => {
    const disk = makeDisk(400);
    onTestFinished(() => disk.remove());
    const route = Route.post("/photos", ({ request }) => ({ size: request.file("photo")!.size }));
    const shop = await uploadShop([route], { limits: KILOBYTE, uploadFolder: disk.folder });
    const send = (size: number) =>
      fetch(`${shop.server.url}photos`, {
        ...post(formOf(["photo", fileOf(size)])),
        headers: { accept: "application/json" },
      });
    const answer = await send(900_000);
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        type: "about:blank",
        title: "Service Unavailable",
        status: 503,
        detail: "There is no room for what you sent; try again later.",
        code: "E_DISK_FULL",
      },
    ]);
    expect(shop.logged).toEqual([expect.objectContaining({ code: "E_DISK_FULL", path: "/photos" })]);
    await expect.poll(shop.files).toEqual([]);
    expect(shop.application.serving.bodies.usage).toEqual({ memoryBytes: 0, diskBytes: 0 });
    expect(await (await send(100_000)).json()).toEqual({ size: 100_000 });
  });

  test("a file is copied from another file system, and nothing is written to a target without space", async () => {
    const disk = makeDisk(400);
    onTestFinished(() => disk.remove());
    const route = Route.post("/photos", async ({ request }) => {
      await request.file("photo")!.moveTo(join(disk.folder, "photo.jpg"), { overwrite: true });
      return "moved";
    });
    const shop = await uploadShop([route], { limits: KILOBYTE });
    const send = (size: number) => fetch(`${shop.server.url}photos`, post(formOf(["photo", fileOf(size)])));
    expect((await send(100_000)).status).toBe(200);
    const { mode, size } = await stat(join(disk.folder, "photo.jpg"));
    const own = join(await temporaryFolder(), "own");
    await writeFile(own, "");
    expect([size, mode]).toEqual([100_000, (await stat(own)).mode]);
    expect((await send(900_000)).status).toBe(503);
    expect(await readdir(disk.folder)).toEqual(["photo.jpg"]);
    expect((await stat(join(disk.folder, "photo.jpg"))).size).toBe(100_000);
    expect(await filesIn(shop.uploads)).toEqual([]);
  });
});
