import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { bootApplication, userClass } from "../../support/booted-application.ts";
import { checkTypes, generateApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

let root: string;
let remove: () => Promise<void>;
let application: Application;
let end: () => Promise<void>;
let port: number;
let headers: Record<string, string>;

beforeAll(async () => {
  ({ root, remove } = await generateApplication());
  await followPage(root, "docs/guides/requests.md");
  await checkTypes(root);
  ({ application, end } = await bootApplication(root));
  const User = await userClass(root);
  const ada = new User().fill({ name: "Ada", email: "ada@example.com" });
  await ada.setPassword("a password of hers");
  await ada.save();
  ({ port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false }));
  headers = await loggedIn();
}, 120_000);
afterAll(async () => {
  await end?.();
  await remove?.();
});

/** What a browser of Ada's sends: her cookies, and a CSRF token in the header. */
async function loggedIn(): Promise<Record<string, string>> {
  const cookies = new Map<string, string>();
  const visit = async (path: string, init: RequestInit = {}) => {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      redirect: "manual",
      ...init,
      headers: { cookie, accept: "text/html" },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0]!.split("=");
      cookies.set(name!, value!);
    }
    return await answer.text();
  };
  const tokenIn = (html: string) => /name="__token" value="([^"]+)"/.exec(html)![1]!;
  const fields = { email: "ada@example.com", password: "a password of hers" };
  const token = tokenIn(await visit("/login"));
  await visit("/login", { method: "POST", body: new URLSearchParams({ ...fields, __token: token }) });
  const csrf = tokenIn(await visit("/logins"));
  return { cookie: [...cookies].map((pair) => pair.join("=")).join("; "), "x-csrf-token": csrf };
}

const uploads = () => readdir(join(root, "storage/uploads")).catch(() => []);

function uploading(more: Record<string, string> = {}) {
  const outgoing = httpRequest({
    port,
    host: "127.0.0.1",
    path: "/uploads",
    method: "POST",
    agent: false,
    headers: { accept: "application/json", ...headers, ...more },
  });
  outgoing.on("error", () => {});
  return outgoing;
}

async function statusOf(outgoing: ReturnType<typeof uploading>): Promise<number> {
  const [response] = await once(outgoing, "response");
  response.resume();
  return response.statusCode;
}

test("an upload is stored under a name that the server chose, and a guest's or a forged one is refused", async () => {
  const outgoing = uploading();
  const answered = once(outgoing, "response");
  outgoing.write("first, ");
  outgoing.end("second");
  const [response] = await answered;
  let body = "";
  for await (const piece of response) body += piece;
  expect(response.statusCode).toBe(201);
  const { name } = JSON.parse(body);
  expect(await readFile(join(root, "storage/uploads", name), "utf8")).toBe("first, second");
  const forged = uploading({ "x-csrf-token": "made-up" });
  forged.end("x");
  expect(await statusOf(forged)).toBe(419);
  const guest = uploading({ cookie: "" });
  guest.end("x");
  expect(await statusOf(guest)).toBe(419);
  expect(await uploads()).toEqual([name]);
});

test("a client that disconnects leaves no half file behind", async () => {
  const before = await uploads();
  const outgoing = uploading({ "content-length": "1000000" });
  outgoing.write(Buffer.alloc(100_000));
  await expect.poll(async () => (await uploads()).filter((name) => name.endsWith(".part")).length).toBe(1);
  outgoing.destroy();
  await expect.poll(uploads).toEqual(before);
});

test("a form's files are saved while they arrive, with its earlier fields as inputs", async () => {
  const { cookie = "", "x-csrf-token": token = "" } = headers;
  const send = (...entries: readonly (readonly [string, string | File])[]) => {
    const body = new FormData();
    for (const [name, value] of entries) body.append(name, value);
    return fetch(`http://127.0.0.1:${port}/films`, {
      method: "POST",
      body,
      headers: { cookie, accept: "application/json" },
    });
  };
  const film = ["film", new File([Buffer.alloc(3_000_000, "film")], "film.mp4")] as const;
  const answer = await send(["__token", token], ["title", "Sea"], film, film);
  expect([answer.status, await answer.json()]).toEqual([201, { title: "Sea", files: 2 }]);
  const saved = await readdir(join(root, "storage/films"));
  expect(saved).toHaveLength(2);
  expect(await readFile(join(root, "storage/films", saved[0]!), "utf8")).toBe("film".repeat(750_000));
  expect((await send(film, ["__token", token])).status).toBe(419);
  expect(await readdir(join(root, "storage/films"))).toHaveLength(2);
});
