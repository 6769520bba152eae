import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Application, createApplication, declareFeature, type Feature, Provider } from "../boot/index.ts";
import type { HttpContext } from "../http/index.ts";
import { Route, type RouteEntry } from "../routing/index.ts";
import { generateSecret } from "../security/index.ts";
import { ViewProvider, Views } from "./index.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "app-"));
  mkdirSync(join(root, "views/components"), { recursive: true });
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

function write(name: string, text: string): void {
  writeFileSync(join(root, "views", `${name}.edge`), text);
}

function create(routes: readonly RouteEntry[], environment = "test"): Promise<Application> {
  return createApplication({
    root,
    providers: [ViewProvider],
    environment: { APP_ENV: environment, APP_KEY: generateSecret(), APP_URL: "http://localhost" },
    config: { app: { APP: { log: { level: "silent" } } } },
    routes,
  });
}

test("a page whose template is missing makes startup fail, with every path", async () => {
  write("welcome", "hello");
  const routes = [Route.view("/", "welcme"), Route.view("/a", "pages/about"), Route.view("/b", "welcome")];
  await expect(create(routes)).rejects.toMatchObject({
    code: "E_INVALID_ROUTE",
    message: expect.stringMatching(
      /^.*view-provider\.test\.ts:\d+: GET \/: There is no view "welcme": .*views\/welcme\.edge does not exist\. Did you mean "welcome"\?\n.*GET \/a: .*pages\/about\.edge does not exist\.[^\n]*$/,
    ),
  });
});

describe("a feature's folder of templates", () => {
  /** Boots with a provider that declares this folder of templates. */
  function bootWith(folder: string): Promise<Application> {
    class StockProvider extends Provider {
      static override readonly feature: Feature = declareFeature({ name: "stock", views: { stock: folder } });
    }
    return createApplication({
      root,
      providers: [ViewProvider, StockProvider],
      environment: { APP_ENV: "test", APP_KEY: generateSecret() },
    });
  }

  test("that is missing fails startup with the provider", async () => {
    const folder = join(root, "views/stock");
    const problem = `StockProvider.feature.views.stock: there is no folder ${folder}. Write join(import.meta.dirname, "views"),`;
    await expect(bootWith(folder)).rejects.toThrow(problem);
    write("stock", "a file");
    await expect(bootWith(`${folder}.edge`)).rejects.toThrow("there is no folder");
    mkdirSync(folder);
    await (await bootWith(folder)).shutdown();
  });

  test("must not depend on the working directory", async () => {
    // A relative path to an existing folder, wherever the tests run.
    const folder = relative(process.cwd(), join(root, "views"));
    expect(statSync(folder).isDirectory()).toBe(true);
    await expect(bootWith(folder)).rejects.toThrow(
      `StockProvider.feature.views.stock: "${folder}" is not an absolute path. Write join(import.meta.dirname, "views"),`,
    );
  });
});

async function get(
  application: Application,
  path: string,
): Promise<[status: number, type: string | null, body: string]> {
  const response = await application.fetch(new Request(`http://localhost${path}`));
  return [response.status, response.headers.get("content-type"), await response.text()];
}

describe("context.view", () => {
  test("a handler renders a template from views/ as its page", async () => {
    write("welcome", "<h1>Hello {{ name }}</h1>");
    const application = await create([Route.get("/", ({ view }) => view.render("welcome", { name: "<you>" }))]);
    expect(await get(application, "/")).toEqual([200, "text/html; charset=utf-8", "<h1>Hello &lt;you&gt;</h1>"]);
  });

  test("Route.view renders a template without a handler", async () => {
    write("about", "<p>{{ text }}</p>");
    const application = await create([Route.view("/about", "about", { text: "us & them" })]);
    expect(await get(application, "/about")).toEqual([200, "text/html; charset=utf-8", "<p>us &amp; them</p>"]);
  });

  test("templates and their components create URLs by route name", async () => {
    write("page", "{{ route('orders.show', { id: 7 }, { page: 2, q: 'a&b' }) }}\n@!component('components/link')\n");
    write("components/link", "<a href=\"{{ route('home') }}\">home</a>");
    const application = await create([
      Route.get("/", ({ view }) => view.render("page")).name("home"),
      Route.get("/orders/@id:int", () => "").name("orders.show"),
    ]);
    const [, , body] = await get(application, "/");
    expect(body).toBe('/orders/7?page=2&amp;q=a%26b<a href="/">home</a>');
  });

  test("an unknown route name fails the page, with template and line", async () => {
    write("page", "\n{{ route('nope') }}");
    let message = "";
    const handler = async ({ view }: HttpContext) => {
      await view.render("page").catch((error: Error) => {
        message = error.message;
      });
      return "caught";
    };
    const application = await create([Route.get("/", handler)]);
    await get(application, "/");
    expect(message).toMatch(`The view "page" failed at ${join(root, "views/page.edge")}:2: `);
    expect(message).toContain('"nope"');
  });

  test("a failing template is a 500 that reveals nothing about it in production", async () => {
    write("page", "{{ user.password }}");
    const application = await create([Route.get("/", ({ view }) => view.render("page"))], "production");
    const [status, , body] = await get(application, "/");
    expect(status).toBe(500);
    expect(body).not.toContain("page.edge");
    expect(body).not.toContain("password");
  });

  test("S24 values shared for a request are available to its templates and components, and to no other request", async () => {
    write("page", "{{ name }}\n@!component('components/name')");
    write("components/name", "/{{ name }}");
    const application = await create([
      Route.get("/@name", async ({ view, request }) => {
        const name = request.param("name");
        view.share("name", name);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
        return view.render("page");
      }),
    ]);
    const names = Array.from({ length: 200 }, (_, number) => `n${number}`);
    const pages = await Promise.all(names.map((name) => get(application, `/${name}`)));
    expect(pages.map(([, , body]) => body)).toEqual(names.map((name) => `${name}/${name}`));
  });

  test("S24 templates and components see the request's user at the time of rendering", async () => {
    write("page", "{{ user?.name ?? 'no one' }}\n@!component('components/name')");
    write("components/name", "/{{ user?.name ?? 'no one' }}");
    const application = await create([
      Route.get("/@name", async (context) => {
        const before = await context.view.render("page");
        context.currentUser = { name: context.request.param("name") } as never;
        return `${before} ${await context.view.render("page")}`;
      }),
    ]);
    const pages = await Promise.all(["Ada", "Bob"].map((name) => get(application, `/${name}`)));
    expect(pages.map(([, , body]) => body)).toEqual(["no one/no one Ada/Ada", "no one/no one Bob/Bob"]);
  });

  test("templates create the URLs of files in public/", async () => {
    mkdirSync(join(root, "public"));
    writeFileSync(join(root, "public/style.css"), "a");
    write("page", "{{ asset('style.css') }} {{ asset('missing.css') }}");
    const application = await create([Route.view("/", "page")]);
    expect((await get(application, "/"))[2]).toBe("/style.css?v=ca978112ca /missing.css");
    expect((await application.fetch(new Request("http://localhost/style.css?v=ca978112ca"))).status).toBe(200);
  });

  test("there is one view per request, and share can be chained", async () => {
    write("page", "{{ a }}{{ b }}");
    const application = await create([
      Route.get("/", (context) => {
        expect(context.view).toBe(context.view);
        return context.view.share("a", 1).share({ b: 2 }).render("page");
      }),
    ]);
    expect((await get(application, "/"))[2]).toBe("12");
  });
});

describe("the service", () => {
  test("it renders outside of a request, with globally shared values", async () => {
    write("mail", "{{ app }}: {{ text }}");
    const application = await create([]);
    const views = application.container.make("views");
    expect(views).toBeInstanceOf(Views);
    views.share("app", "Shop");
    expect(await views.render("mail", { text: "paid" })).toBe("Shop: paid");
  });

  test("outside of a request, it knows no URL of a route or a path, no user, and the default language", async () => {
    write("letter", "{{ typeof url }} {{ typeof route }} {{ typeof user }} {{ language }} {{ typeof asset }}");
    const views = (await create([])).container.make("views");
    expect(await views.render("letter")).toBe("undefined undefined undefined en function");
  });

  test.each([
    ["production", "first"],
    ["test", "first"],
    ["development", "second"],
  ])("in %s, a template that changed after it was rendered renders as the %s", async (environment, expected) => {
    write("page", "first");
    const application = await create([Route.get("/", ({ view }) => view.render("page"))], environment);
    expect((await get(application, "/"))[2]).toBe("first");
    write("page", "second");
    expect((await get(application, "/"))[2]).toBe(expected);
  });
});
