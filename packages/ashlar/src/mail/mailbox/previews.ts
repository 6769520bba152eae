import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { MaybePromise } from "../../support/index.ts";
import type { Mailable } from "../composing/mailable.ts";

/** A mailable with sample data. */
export interface Preview {
  /** The name of its class. */
  readonly name: string;
  readonly make: () => MaybePromise<Mailable>;
}

/** The mailables of an application that have a preview, and the files that could not be loaded. */
export interface PreviewList {
  readonly previews: readonly Preview[];
  readonly problems: readonly { readonly file: string; readonly problem: string }[];
}

interface PreviewableClass {
  readonly name: string;
  readonly preview: () => MaybePromise<Mailable>;
}

/**
 * Finds the classes with a static `preview()`, sorted by name.
 *
 * @param folder the folder whose modules are searched, including subfolders. A class in it replaces an offered class
 * with the same name
 * @param offered the mailables of features
 */
export async function findPreviews(folder: string, offered: readonly unknown[]): Promise<PreviewList> {
  const previews = new Map<string, Preview>();
  const add = (one: PreviewableClass): void => {
    previews.set(one.name, { name: one.name, make: () => one.preview() });
  };
  for (const mailable of offered.filter(isPreviewable)) add(mailable);
  const problems: { file: string; problem: string }[] = [];
  for (const file of moduleFiles(folder)) {
    try {
      const module = (await import(/* @vite-ignore */ pathToFileURL(join(folder, file)).href)) as object;
      for (const exported of Object.values(module).filter(isPreviewable)) add(exported);
    } catch (error) {
      problems.push({ file, problem: error instanceof Error ? error.message : String(error) });
    }
  }
  return { previews: [...previews.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), problems };
}

function moduleFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.[jt]s$/.test(file) && !/\.(?:d|test)\.[jt]s$/.test(file))
    .sort();
}

function isPreviewable(exported: unknown): exported is PreviewableClass {
  return typeof exported === "function" && typeof (exported as Partial<PreviewableClass>).preview === "function";
}
