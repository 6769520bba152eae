import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import type { RouteEntry } from "../../src/routing/index.ts";
import type { RunningServer } from "../../src/server/index.ts";
import { buildApplication } from "./build-application.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** A listening application that accepts uploads. */
export interface UploadShop {
  readonly application: Application;
  readonly server: RunningServer;
  /** The folder for forms' files while their requests are handled. */
  readonly uploads: string;
  /** The warnings and errors that it has logged. */
  readonly logged: Record<string, unknown>[];
  /** The files in that folder, with their paths. */
  readonly files: () => Promise<string[]>;
}

/** @param app changes to `APP` */
export async function uploadShop(
  routes: readonly RouteEntry[],
  app: { readonly limits?: object; readonly server?: object; readonly uploadFolder?: string } = {},
): Promise<UploadShop> {
  const uploads = app.uploadFolder ?? (await temporaryFolder());
  const logged: Record<string, unknown>[] = [];
  const APP = { uploadFolder: uploads, ...app, server: { maxQueueMs: 0, ...app.server } };
  const application = await buildApplication({ routes, middleware: { web: [] }, config: { app: { APP } }, logged });
  const server = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  onTestFinished(() => application.shutdown());
  return { application, server, uploads, logged, files: () => filesIn(uploads) };
}

/** The uploads of all processes in a folder. */
export async function filesIn(uploads: string): Promise<string[]> {
  if (!existsSync(uploads)) return [];
  const folders = await readdir(uploads, { recursive: true, withFileTypes: true });
  const files = folders.filter((entry) => entry.isFile() && /^[\da-f-]{36}$/.test(entry.name));
  return files.map((entry) => join(entry.parentPath, entry.name));
}

/** A form with these entries, in order. */
export function formOf(...entries: readonly (readonly [name: string, value: string | File])[]): FormData {
  const form = new FormData();
  for (const [name, value] of entries) form.append(name, value);
  return form;
}

/** A file of a size, in bytes. */
export function fileOf(size: number, name = "photo.jpg", type = "image/jpeg"): File {
  return new File([Buffer.alloc(size, "0123456789")], name, { type });
}

const BOUNDARY = randomUUID();

/** The beginning of a form with a file, as sent over a socket. */
export function openForm(path: string, length: number, more = ""): string {
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: x",
    "Accept: application/json",
    `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
    `Content-Length: ${length}`,
  ];
  const part = [`--${BOUNDARY}`, 'Content-Disposition: form-data; name="photo"; filename="photo.jpg"'];
  return `${head.join("\r\n")}\r\n${more}\r\n${more === "" ? `${part.join("\r\n")}\r\n\r\n` : ""}`;
}
