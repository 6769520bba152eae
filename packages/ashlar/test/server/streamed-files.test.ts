import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { HttpContext } from "../../src/http/index.ts";
import { Route } from "../../src/routing/index.ts";
import { Csrf } from "../../src/session/index.ts";
import { applicationOf, ask, json } from "../support/dispatched.ts";
import { rawSocket } from "../support/raw-socket.ts";
import { sessionApplication } from "../support/session-application.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { fileOf, formOf, openForm, uploadShop } from "../support/upload-shop.ts";

const post = (body: FormData, headers: Record<string, string> = {}): RequestInit => ({ method: "POST", body, headers });

/** Reads all parts of a form. */
async function partsOf({ request }: HttpContext): Promise<object> {
  const parts: object[] = [];
  for await (const part of request.parts()) {
    const { field, isFile, name, clientName, extension, type } = part;
    const length = (await part.bytes()).length;
    parts.push(isFile ? { field, name, clientName, extension, type, length } : { field, length });
  }
  return { title: request.input("title"), parts };
}

const films = Route.post("/films", partsOf).streamsFiles();

describe("a route that streams a form's files", () => {
  test("has the fields before the first file as inputs, and then the rest, part by part", async () => {
    const { server, files } = await uploadShop([films], { limits: { maxFormMemoryBytes: 0 } });
    const body = formOf(
      ["title", "Sea"],
      ["film[]", fileOf(200_000, "../a.MP4", "video/mp4")],
      ["note", "later"],
      ["film[]", fileOf(0, "b.mp4", "")],
    );
    const answer = await fetch(`${server.url}films`, post(body));
    expect(await answer.json()).toEqual({
      title: "Sea",
      parts: [
        { field: "film[]", name: "a.MP4", clientName: "a.MP4", extension: "mp4", type: "video/mp4", length: 200_000 },
        { field: "note", length: 5 },
        {
          field: "film[]",
          name: "b.mp4",
          clientName: "b.mp4",
          extension: "mp4",
          type: "application/octet-stream",
          length: 0,
        },
      ],
    });
    expect(await files()).toEqual([]);
  });

  test("reads other bodies like any other route, and then there are no parts", async () => {
    const application = await applicationOf([films]);
    const plain = { title: "Sea", parts: [] };
    expect(JSON.parse((await ask(application, "/films", json({ title: "Sea" }))).body)).toEqual(plain);
    const form = { method: "POST", body: new URLSearchParams({ title: "Sea" }) };
    expect(JSON.parse((await ask(application, "/films", form)).body)).toEqual(plain);
    expect(JSON.parse((await ask(application, "/films", post(formOf(["title", "Sea"])))).body)).toEqual(plain);
    const large = await ask(application, "/films", json("x".repeat(2 ** 21)));
    expect(large.status).toBe(413);
  });

  test("saves a file while it arrives, under its name only once it is complete", async () => {
    const folder = await temporaryFolder();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    const route = Route.post("/films", async ({ request }) => {
      for await (const part of request.parts()) {
        begin();
        await part.moveTo(join(folder, part.name)).catch((error) => {
          fail(error);
          throw error;
        });
      }
      return "saved";
    })
      .streamsFiles()
      .bodyLimit("10mb");
    const { server } = await uploadShop([route]);
    const half = rawSocket(server.port, `${openForm("/films", 2_000_000)}${"x".repeat(500_000)}`);
    await begun;
    await expect.poll(() => readdir(folder)).toEqual([expect.stringMatching(/^\.[\da-f-]{36}\.part$/)]);
    half.socket.destroy();
    expect(await failed).toMatchObject({ code: "E_INVALID_BODY" });
    await expect.poll(() => readdir(folder)).toEqual([]);
    const body = formOf(["photo", fileOf(3_000_000, "photo.jpg")]);
    expect(await (await fetch(`${server.url}films`, post(body))).text()).toBe("saved");
    expect((await stat(join(folder, "photo.jpg"))).size).toBe(3_000_000);
    expect((await readFile(join(folder, "photo.jpg"), "utf8")).slice(0, 12)).toBe("012345678901");
  });

  test("receives from the client only the bytes that it reads, whatever the size", async () => {
    const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
    let [most, size] = [0, 0];
    const route = Route.post("/films", async ({ request }) => {
      for await (const part of request.parts()) {
        await goOn;
        for await (const piece of part.stream()) {
          size += piece.length;
          most = Math.max(most, piece.length);
        }
      }
      return { size };
    })
      .streamsFiles()
      .bodyLimit(Number.POSITIVE_INFINITY);
    const { application, server, files } = await uploadShop([route]);
    const length = 200 * 2 ** 20;
    const head = openForm("/films", length);
    const { socket, received } = rawSocket(server.port, head);
    const chunk = Buffer.alloc(2 ** 20);
    let accepted = 0;
    const written = head.length - head.indexOf("\r\n\r\n") - 4;
    const ending = `\r\n--${/boundary=(\S+)/.exec(head)![1]}--\r\n`;
    for (let sent = 0; sent < 199; sent++) socket.write(chunk, () => accepted++);
    let seen = -1;
    const settled = () => {
      const isSettled = seen === accepted;
      seen = accepted;
      return isSettled;
    };
    await expect.poll(settled, { interval: 200 }).toBe(true);
    // The kernel's buffers hold the rest of what the client could send.
    expect(accepted).toBeLessThan(128);
    expect(application.serving.bodies.usage).toEqual({ memoryBytes: 0, diskBytes: 0 });
    release();
    const rest = length - written - 199 * 2 ** 20 - ending.length;
    socket.write("y".repeat(rest) + ending);
    await expect.poll(received, { timeout: 60_000 }).toContain(`{"size":${199 * 2 ** 20 + rest}}`);
    expect(most).toBeLessThanOrEqual(2 ** 18);
    expect(await files()).toEqual([]);
    socket.destroy();
  });

  test.each([
    ["too large", [["film", fileOf(2 ** 21)]], 413],
    ["too many files", Array.from({ length: 3 }, () => ["film", fileOf(10)]), 400],
    ["too many fields", [["film", fileOf(10)], ...Array.from({ length: 4 }, () => ["a", "b"])], 400],
    [
      "fields that are too large",
      [
        ["film", fileOf(10)],
        ["a", "x".repeat(70_000)],
      ],
      413,
    ],
  ] as const)("refuses what is %s while it is read", async (_, entries, status) => {
    const limits = { maxFiles: 2, maxFields: 3, maxBodyBytes: 60_000 };
    const { server } = await uploadShop([films], { limits });
    const answer = await fetch(`${server.url}films`, post(formOf(...(entries as [string, string | File][]))));
    expect(answer.status).toBe(status);
  });

  test.each(["bytes", "text"] as const)(
    "reads no more of a file into memory than of any other body: %s()",
    async (how) => {
      const route = Route.post("/films", async ({ request }) => {
        const lengths: number[] = [];
        for await (const part of request.parts()) lengths.push((await part[how]()).length);
        return { lengths };
      });
      const limits = { maxBodyBytes: 60_000 };
      const { server } = await uploadShop([route.streamsFiles().bodyLimit("10mb")], { limits });
      const send = (size: number) => fetch(`${server.url}films`, post(formOf(["a", fileOf(10)], ["b", fileOf(size)])));
      expect(await (await send(60_000)).json()).toEqual({ lengths: [10, 60_000] });
      const refused = await send(60_001);
      expect([refused.status, refused.headers.get("connection")]).toEqual([413, "close"]);
    },
  );

  test("skips the rest of a part that a handler leaves, and a part that is read too late doesn't look complete", async () => {
    const route = Route.post("/films", async ({ request }) => {
      const fields: string[] = [];
      const errors: unknown[] = [];
      let late: Promise<unknown> | null = null;
      for await (const part of request.parts()) {
        fields.push(part.field);
        if (late !== null) errors.push(await late);
        if (part.field === "one") {
          const reader = part.stream().getReader();
          await reader.read();
          expect(() => part.stream()).toThrow(expect.objectContaining({ code: "E_INTERNAL" }));
          const readLater = async () => {
            await new Promise((resolve) => setImmediate(resolve));
            while (!(await reader.read()).done);
            return "complete";
          };
          late = readLater().catch((error) => error.code);
        }
      }
      return { fields, errors };
    })
      .streamsFiles()
      .bodyLimit("10mb");
    const { server } = await uploadShop([route]);
    const body = formOf(["one", fileOf(2_000_000)], ["two", fileOf(10)]);
    const answer = (await (await fetch(`${server.url}films`, post(body))).json()) as {
      fields: string[];
      errors: unknown[];
    };
    expect(answer).toEqual({ fields: ["one", "two"], errors: ["E_INTERNAL"] });
  });

  test("that responds before it has read all of them is done, and the client gets the response", async () => {
    const early = Route.post("/films", () => "early")
      .streamsFiles()
      .bodyLimit("1gb");
    const first = Route.post("/first", async ({ request }) => {
      for await (const part of request.parts()) return part.name;
      return null;
    });
    const { server } = await uploadShop([early, first.streamsFiles().bodyLimit("1gb")]);
    const body = () => formOf(["one", fileOf(5_000_000, "one.mp4")], ["two", fileOf(10)]);
    expect(await (await fetch(`${server.url}films`, post(body()))).text()).toBe("early");
    expect(await (await fetch(`${server.url}first`, post(body()))).text()).toBe("one.mp4");
  });

  test("names the alternative to files, and to parts on any other route", async () => {
    const wanted = Route.post("/films/@what", async ({ request }) => {
      return { x: request.param("what") === "file" ? request.file("film") : (await request.rawBody()).length };
    }).streamsFiles();
    const other = Route.post("/other", partsOf);
    const { server, logged } = await uploadShop([wanted, other]);
    for (const [path, text] of [
      ["films/file", "request.parts()"],
      ["films/raw", "request.parts()"],
      ["other", ".streamsFiles()"],
    ]) {
      logged.length = 0;
      const answer = await fetch(`${server.url}${path}`, post(formOf(["film", fileOf(10)])));
      expect([answer.status, JSON.stringify(logged)]).toEqual([500, expect.stringContaining(text!)]);
    }
  });

  test("is not reached by a form that names another method, and its own form reaches no other route", async () => {
    const application = await applicationOf([
      Route.post("/films", partsOf).streamsFiles(),
      Route.delete("/films", () => "deleted"),
      Route.put("/notes", partsOf).streamsFiles(),
      Route.post("/notes", () => "posted"),
    ]);
    const form = (method: string) => post(formOf(["__method", method], ["film", fileOf(10)]));
    expect(JSON.parse((await ask(application, "/films", form("DELETE"))).body)).toMatchObject({
      parts: [{ field: "film" }],
    });
    expect((await ask(application, "/notes", form("PUT"))).body).toBe("posted");
  });

  test("can't also stream the body", async () => {
    const both = Route.post("/films", partsOf).streamsFiles().streamsBody();
    await expect(applicationOf([both])).rejects.toThrow("choose one of streamsBody() and streamsFiles()");
  });
});

describe("S197 the CSRF token of a form with streamed files", () => {
  test("comes before the files or in the header, or no file is read", async () => {
    let handled = 0;
    const folder = await temporaryFolder();
    const route = Route.post("/films", async ({ request }) => {
      handled++;
      for await (const part of request.parts())
        if (part.isFile) await part.moveTo(join(folder, "film"), { overwrite: true });
      return "saved";
    })
      .streamsFiles()
      .bodyLimit("10mb");
    const application = await sessionApplication({
      routes: [Route.get("/form", (context) => Csrf.token(context)), route],
    });
    const server = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    const page = await fetch(`${server.url}form`);
    const token = await page.text();
    const cookie = page.headers.getSetCookie()[0]!.split(";")[0]!;
    const film = ["film", fileOf(3_000_000)] as const;
    const send = async (body: FormData, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${server.url}films`, post(body, { cookie, ...headers }));
      return [answer.status, existsSync(join(folder, "film"))];
    };
    expect(await send(formOf(film, ["__token", token]))).toEqual([419, false]);
    expect(await send(formOf(["__token", "made-up"], film))).toEqual([419, false]);
    expect(handled).toBe(0);
    expect(await send(formOf(["__token", token], film))).toEqual([200, true]);
    expect(await send(formOf(film), { "x-csrf-token": token })).toEqual([200, true]);
  });

  test("is checked without reading a file, and the response comes while the client is still sending", async () => {
    const route = Route.post("/films", () => "never")
      .streamsFiles()
      .bodyLimit("1gb");
    const application = await sessionApplication({
      routes: [Route.get("/form", (context) => Csrf.token(context)), route],
    });
    const server = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    const page = await fetch(`${server.url}form`);
    const cookie = page.headers.getSetCookie()[0]!.split(";")[0]!;
    const head = openForm("/films", 900_000_000).replace("Host: x", `Host: x\r\nCookie: ${cookie}`);
    const { received, socket } = rawSocket(server.port, `${head}${"x".repeat(1000)}`);
    await expect.poll(received).toMatch(/^HTTP\/1\.1 419 /);
    socket.destroy();
  });
});
