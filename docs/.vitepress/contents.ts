// What the manual contains, in the order of the sidebar. The site, the copy in the package and the tests read it here.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder of the manual. */
export const DOCS: string = join(import.meta.dirname, "..");

/** A part of the manual with its own sidebar. */
export interface Part {
  readonly title: string;
  readonly groups: readonly Group[];
}

/** Pages under one heading of the sidebar. */
export interface Group {
  readonly title: string;
  /** Markdown files in `docs/`, without `.md`. */
  readonly pages: readonly string[];
  /** Whether the pages only matter to people who work on the framework: they are not in the package. */
  readonly isInternal?: boolean;
}

/** A page of the manual. */
export interface ManualPage {
  /** Its Markdown file in `docs/`: `guides/routing.md`. */
  readonly file: string;
  readonly title: string;
  /** One sentence, from its front matter; `""` if it has none. */
  readonly description: string;
}

const guides = (...names: readonly string[]): string[] =>
  names.map((name) => (name.includes("/") ? name.slice(3) : `guides/${name}`));

/** The pages in a folder whose names begin with a number, in the order of the numbers. */
function numbered(folder: string): string[] {
  const path = join(DOCS, folder);
  const files = existsSync(path) ? readdirSync(path).filter((file) => /^\d+-.*\.md$/.test(file)) : [];
  return files
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
    .map((file) => `${folder}/${file.slice(0, -3)}`);
}

const CONTENTS: readonly Part[] = [
  { title: "Tutorial", groups: [{ title: "Tutorial", pages: ["tutorial/index", ...numbered("tutorial")] }] },
  {
    title: "Guides",
    groups: [
      {
        title: "Basics",
        pages: guides(
          "applications",
          "routing",
          "middleware",
          "requests",
          "validation",
          "responses",
          "pages",
          "errors",
          "languages",
        ),
      },
      { title: "Data", pages: guides("databases", "models", "migrations", "zero-downtime") },
      {
        title: "Accounts",
        pages: guides(
          "authentication",
          "accounts",
          "changing-accounts",
          "accounts-on-call",
          "login-steps",
          "proofs",
          "login-links",
          "passkeys",
          "two-factor",
          "sessions",
          "single-page-applications",
          "client",
          "own-guards",
          "../account-stores",
        ),
      },
      { title: "API", pages: guides("api-tokens", "personal-tokens", "token-keys", "jwt") },
      {
        title: "More",
        pages: guides(
          "mail",
          "newsletters",
          "jobs",
          "webhooks",
          "limits",
          "events",
          "cryptography",
          "testing",
          "features",
          "other-frameworks",
        ),
      },
      {
        title: "Running it",
        pages: guides(
          "deployment",
          "public-addresses",
          "own-authority",
          "redis",
          "observability",
          "../operations",
          "upgrading",
          "security",
          "asvs",
        ),
      },
      {
        title: "Runbooks",
        pages: [
          "index",
          "database-down",
          "database-restored",
          "leaked-secret",
          "mail-down",
          "under-attack",
          "failed-deployment",
          "rotating-passwords",
        ].map((name) => `runbooks/${name}`),
      },
    ],
  },
  {
    title: "Coming from",
    groups: [
      {
        title: "Coming from",
        pages: ["index", "masonite", "laravel", "adonisjs", "express-passport", "better-auth", "second-factors"].map(
          (name) => `coming-from/${name}`,
        ),
      },
    ],
  },
  {
    title: "Reference",
    groups: [
      {
        title: "Reference",
        pages: [
          "index",
          "configuration",
          "errors",
          "commands",
          "doctor",
          "events",
          "features",
          "doors",
          "account-states",
        ].map((name) => `reference/${name}`),
      },
    ],
  },
  {
    title: "Internals",
    groups: [
      { title: "Internals", pages: ["security"], isInternal: true },
      { title: "Decisions", pages: numbered("decisions"), isInternal: true },
    ],
  },
];

/** The parts of the manual, with the pages that exist. */
export function parts(): Part[] {
  return CONTENTS.flatMap(({ title, groups }) => {
    const filled = groups
      .map((group) => ({ ...group, pages: group.pages.filter((page) => existsSync(join(DOCS, `${page}.md`))) }))
      .filter(({ pages }) => pages.length > 0);
    return filled.length === 0 ? [] : [{ title, groups: filled }];
  });
}

/** Reads the title and the description of a page. */
export function readPage(page: string, folder: string = DOCS): ManualPage {
  const file = `${page}.md`;
  const text = readFileSync(join(folder, file), "utf8");
  const [, frontMatter = ""] = /^---\n([\s\S]*?)\n---\n/.exec(text) ?? [];
  const [, description = ""] = /^description:\s*(.+)$/m.exec(frontMatter) ?? [];
  const [, title] = /^# (.+)$/m.exec(text.slice(frontMatter.length)) ?? [];
  if (title === undefined) throw new Error(`docs/${file} has no title. Begin it with a line "# Title".`);
  return { file, title: title.replaceAll(/[`*]/g, ""), description: description.replace(/^(["'])(.*)\1$/, "$2") };
}

/** The import paths of the package, `ashlar` first. */
export function importPaths(): string[] {
  const manifest = readFileSync(join(DOCS, "../packages/ashlar/package.json"), "utf8");
  const { exports } = JSON.parse(manifest) as { readonly exports: Readonly<Record<string, unknown>> };
  const paths = Object.entries(exports).filter(([, target]) => typeof target === "object");
  return paths.map(([path]) => path.replace(/^\./, "ashlar"));
}
