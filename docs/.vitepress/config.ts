import { join, posix } from "node:path";
import { type DefaultTheme, defineConfig, type UserConfig } from "vitepress";
import { OWNER } from "../../scripts/owner.ts";
import { importPaths, parts, readPage } from "./contents.ts";
import { writeMarkdownCopy } from "./markdown-copy.ts";
import { slugOf } from "./slug.ts";

const link = (page: string): string => `/${page.replace(/(^|\/)index$/, "$1")}`;

function pageItem(page: string): DefaultTheme.SidebarItem {
  const { title } = readPage(page);
  const [, number] = /^decisions\/(\d+)-/.exec(page) ?? [];
  return { text: number === undefined ? title : `${number} ${title}`, link: link(page) };
}

const group = (title: string, pages: readonly string[]): DefaultTheme.SidebarItem => ({
  text: title,
  items: pages.map(pageItem),
});

/**
 * The sidebar of most pages lists all of the manual but the API reference and the decisions, which have their own. None can
 * be folded: the theme would nest one button in another.
 */
function sidebar(): DefaultTheme.SidebarMulti {
  const all = parts().flatMap(({ title, groups }) => groups.map((one) => ({ ...one, part: title })));
  const of = (isThere: (one: (typeof all)[number]) => boolean): DefaultTheme.SidebarItem[] =>
    all.filter(isThere).map(({ title, pages }) => group(title, pages));
  const internals = of(({ part }) => part === "Internals");
  const decisions = all.find(({ title }) => title === "Decisions")?.pages ?? [];
  const entrance: DefaultTheme.SidebarItem = {
    text: "Internals",
    items: [pageItem("security"), { text: "Decisions", link: link(decisions[0] ?? "") }],
  };
  return {
    "/": [...of(({ part }) => part !== "Internals"), entrance],
    "/reference/": [...of(({ part }) => part === "Reference"), { text: "API reference", items: apiPages() }],
    "/decisions/": internals,
    "/security.html": internals,
  };
}

function apiPages(): DefaultTheme.SidebarItem[] {
  return importPaths().map((path) => ({ text: path, link: `/reference/api/${path}/` }));
}

/** The first pages of the parts; the internals are for the few who look for them in the sidebar. */
function navigation(): DefaultTheme.NavItem[] {
  return parts()
    .filter(({ title }) => title !== "Internals")
    .map(({ title, groups }) => {
      const [first = ""] = groups[0]?.pages ?? [];
      return { text: title, link: link(first), activeMatch: `^/${first.slice(0, first.indexOf("/"))}/` };
    });
}

const site: UserConfig<DefaultTheme.Config> = defineConfig({
  title: "Ashlar",
  description: "A web-application framework for TypeScript with complete authentication built in.",
  lang: "en-US",
  srcExclude: ["node_modules/**"],
  head: [
    ["link", { rel: "icon", href: "/mark.svg", type: "image/svg+xml" }],
    ["meta", { name: "theme-color", content: "#f7f5f2", media: "(prefers-color-scheme: light)" }],
    ["meta", { name: "theme-color", content: "#16191b", media: "(prefers-color-scheme: dark)" }],
  ],
  // A page with its own title shows it in the browser's tab; the home page shows the product's name.
  titleTemplate: ":title · Ashlar",
  themeConfig: {
    logo: { src: "/mark.svg", alt: "" },
    nav: navigation(),
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    search: {
      provider: "local",
      options: {
        detailedView: true,
        // Of the API reference, search finds names and what the comments say. Of all other pages, it finds code too, which
        // it doesn't have to highlight.
        _render(source, env, md) {
          const isReference = env.relativePath.startsWith("reference/api/");
          const withoutFences = source.replaceAll(/^ *```.*\n([\s\S]*?)^ *```/gm, (_, code: string) =>
            isReference ? "" : `<pre>${md.utils.escapeHtml(code)}</pre>\n`,
          );
          return md.render(withoutFences, env);
        },
        miniSearch: {
          searchOptions: {
            // People look for a task first, for a name second, and seldom for why something is as it is.
            boostDocument: (section: string) => {
              if (/^\/(?:decisions\/|security\.html)/.test(section)) return 0.2;
              return section.startsWith("/reference/api/") ? 0.4 : 1;
            },
          },
        },
      },
    },
    docFooter: { prev: "Previous", next: "Next" },
    footer: { message: "MIT license" },
    externalLinkIcon: true,
    ...(OWNER.repository === ""
      ? {}
      : {
          socialLinks: [{ icon: "github", link: OWNER.repository }],
          editLink: { pattern: `${OWNER.repository}/edit/main/docs/:path`, text: "Edit this page" },
        }),
  },
  markdown: {
    anchor: { slugify: slugOf },
    languageAlias: { caddy: "nginx", haproxy: "nginx" },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config(md) {
      // Templates of Edge have the same braces as those of Vue, which would evaluate them.
      for (const rule of ["text", "code_inline"] as const) {
        const render = md.renderer.rules[rule];
        md.renderer.rules[rule] = (...args) => (render?.(...args) ?? "").replaceAll("{{", "&#123;&#123;");
      }
      // Decisions link to files of the repository, which the site doesn't have.
      md.core.ruler.push("links-out-of-the-manual", ({ tokens, env }) => {
        const page: string = env.relativePath ?? "";
        for (const { children } of tokens) {
          let isLeaving = false;
          for (const token of children ?? []) {
            const href = token.attrGet("href") ?? "";
            if (token.type === "link_open" && posix.join(posix.dirname(page), href).startsWith("../")) {
              const path = posix.join("docs", posix.dirname(page), href);
              if (OWNER.repository !== "") token.attrSet("href", `${OWNER.repository}/blob/main/${path}`);
              else isLeaving = true;
            }
            if (!isLeaving) continue;
            if (token.type === "link_close") isLeaving = false;
            if (token.type.startsWith("link_")) {
              token.type = "text";
              token.tag = "";
              token.nesting = 0;
              token.attrs = null;
            }
          }
        }
      });
    },
  },
  vite: {
    // The index of the search is large, and loaded only by those who search.
    build: { chunkSizeWarningLimit: 4000 },
    // The theme's home page has no landmark for its content.
    resolve: { alias: [{ find: /^.*\/VPHome\.vue$/, replacement: join(import.meta.dirname, "theme/Home.vue") }] },
  },
  async buildEnd({ outDir }) {
    await writeMarkdownCopy(outDir);
  },
});

export default site;
