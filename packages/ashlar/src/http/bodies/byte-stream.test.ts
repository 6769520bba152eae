import { mkdtemp, open, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { AshlarError } from "../../support/index.ts";
import { byteStream, readFileBytes, toByteStream } from "./byte-stream.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ashlar-bytes-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** How many of the folder's files this process has open. */
async function openFiles(): Promise<number> {
  const { readlink } = await import("node:fs/promises");
  const names = await readdir("/proc/self/fd");
  const targets = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  return targets.filter((target) => target.startsWith(folder)).length;
}

async function fileOf(name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

describe("a file as a stream", () => {
  test.each([0, 1, 65_535, 65_536, 65_537, 200_000])("of %i bytes is read whole, then closed", async (length) => {
    const bytes = Uint8Array.from({ length }, (_, index) => index % 251);
    const file = await readFileBytes(await fileOf(`f${length}`, bytes));
    expect(file.length).toBe(length);
    expect(new Uint8Array(await new Response(file.read(0, length).stream).arrayBuffer())).toEqual(bytes);
    expect(await openFiles()).toBe(0);
  });

  test("is not open before it is read or after it is cancelled", async () => {
    const { stream } = (await readFileBytes(await fileOf("lazy", new Uint8Array(200_000)))).read(0, 200_000);
    expect(await openFiles()).toBe(0);
    const reader = stream.getReader();
    await reader.read();
    expect(await openFiles()).toBe(1);
    await reader.cancel();
    expect(await openFiles()).toBe(0);
  });

  test("is cut at the original length if the file has grown, and fails if the file has shrunk", async () => {
    const path = await fileOf("moving", new Uint8Array(10));
    const longer = await readFileBytes(path);
    await writeFile(path, new Uint8Array(20));
    expect((await new Response(longer.read(0, longer.length).stream).arrayBuffer()).byteLength).toBe(10);
    const shorter = await readFileBytes(path);
    await truncate(path, 5);
    await expect(new Response(shorter.read(0, shorter.length).stream).arrayBuffer()).rejects.toThrow();
    expect(await openFiles()).toBe(0);
  });

  test("sends every byte even if reads return fewer bytes than requested", async () => {
    const bytes = Uint8Array.from({ length: 100 }, (_, index) => index + 1);
    const path = await fileOf("short", bytes);
    const handle = await open(path);
    const prototype = Object.getPrototypeOf(handle) as { read: (...args: unknown[]) => unknown };
    await handle.close();
    const { read } = prototype;
    let reads = 0;
    const short = vi.spyOn(prototype, "read").mockImplementation(function (
      this: unknown,
      buffer,
      offset,
      length,
      position,
    ) {
      reads++;
      return read.call(this, buffer, offset, Math.min(30, Number(length)), position);
    });
    onTestFinished(() => short.mockRestore());
    const file = await readFileBytes(path);
    expect(new Uint8Array(await new Response(file.read(0, 100).stream).arrayBuffer())).toEqual(bytes);
    expect(reads).toBe(4);
  });

  test("is an E_NOT_FOUND that does not reveal the path if the file is missing or is a folder", async () => {
    for (const path of [join(folder, "missing"), folder, `${folder}/a\0b`]) {
      const error = await readFileBytes(path).then(
        () => expect.unreachable(),
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(AshlarError);
      expect((error as AshlarError).code).toBe("E_NOT_FOUND");
      expect((error as AshlarError).message).toBe("The page or resource was not found.");
    }
  });
});

describe("a source as a stream of bytes", () => {
  async function* pieces() {
    yield "é";
    yield new Uint8Array([33]);
  }

  test("accepts a generator, a Readable and a web stream", async () => {
    expect(await new Response(toByteStream(pieces()).stream).text()).toBe("é!");
    expect(await new Response(toByteStream(Readable.from(["a", Buffer.from("b")])).stream).text()).toBe("ab");
    const stream = new Blob(["whole"]).stream();
    expect(toByteStream(stream).stream).toBe(stream);
  });

  test("destroys its source when it is cancelled", async () => {
    const source = Readable.from(pieces());
    const reader = toByteStream(source).stream.getReader();
    await reader.read();
    await reader.cancel();
    expect(source.destroyed).toBe(true);
  });

  test("S62 destroys its source when it is cancelled before anything was read", async () => {
    const source = Readable.from(pieces());
    await toByteStream(source).stream.cancel();
    expect(source.destroyed).toBe(true);
  });

  test("S62 destroys its source when it is closed, even while a reader holds the stream", async () => {
    const source = Readable.from(pieces());
    const { stream, close } = toByteStream(source);
    const reader = stream.getReader();
    await reader.read();
    await close();
    expect(source.destroyed).toBe(true);
    expect(await reader.read()).toEqual({ done: true, value: undefined });
  });

  test("S62 cancels a web stream when it is closed, unless the stream is being read elsewhere", async () => {
    let cancelled = 0;
    const source = (): ReadableStream<Uint8Array> => new ReadableStream({ cancel: () => void cancelled++ });
    await toByteStream(source()).close();
    expect(cancelled).toBe(1);
    const locked = source();
    locked.getReader();
    await toByteStream(locked).close();
    expect(cancelled).toBe(1);
  });

  test("S62 an error in a Readable before it is read reaches only its reader", async () => {
    const source = new Readable({ read() {} });
    const { stream } = toByteStream(source);
    source.destroy(new Error("no such thing"));
    await new Promise((resolve) => setImmediate(resolve));
    await expect(stream.getReader().read()).rejects.toThrow("no such thing");
  });
});

test("a source is closed only once, however often close is called", async () => {
  let closed = 0;
  const { stream, close } = byteStream({ read: async () => new Uint8Array([1]), close: () => void closed++ });
  const reader = stream.getReader();
  await reader.read();
  await Promise.all([close(), close()]);
  expect((await reader.read()).done).toBe(true);
  await close();
  expect(closed).toBe(1);
});

test("S62 a stream that was partly read and then garbage-collected closes its source", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  let closed = 0;
  const readInPart = async (): Promise<void> => {
    const source = { read: async () => new Uint8Array([1]), close: () => void closed++ };
    await byteStream(source).stream.getReader().read();
  };
  await readInPart();
  await expect
    .poll(() => {
      collect();
      return closed;
    })
    .toBe(1);
});
