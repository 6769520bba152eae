import { expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { type Application, createApplication } from "../../boot/index.ts";
import { HttpKernel } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { ViewProvider } from "../../views/index.ts";
import type { HttpContext } from "../index.ts";

const ENGLISH = 'export const MESSAGES = { "app.hello": "Hello, {name}" };';
const GERMAN = 'export const MESSAGES = { "app.hello": "Hallo, {name}" };';
const PAGE = '<html lang="{{ language }}">{{ t("app.hello", { name: "<Ada>" }) }}</html>';

class Kernel extends HttpKernel {
  override routeMiddleware = { web: [] };
}

/** An application with a greeting, and these files in its folder. */
function create(files: Readonly<Record<string, string>>, APP: object = {}): Promise<Application> {
  const root = folderWith({ "views/page.edge": PAGE, ...files });
  return createApplication({
    root,
    kernel: Kernel,
    providers: [ViewProvider],
    environment: { APP_ENV: "test" },
    config: { app: { APP } },
    routes: [
      Route.get("/number", ({ request }) => request.integer("age")),
      Route.post("/number", ({ request }) => request.integer("age")),
      Route.get("/plain", () => "plain"),
      Route.get("/hello", ({ t }) => t("app.hello", { name: "Ada" })),
      Route.get("/mine", (context: HttpContext) => {
        context.currentUser = { language: "de" };
        return context.t("app.hello", { name: "Ada" });
      }),
      Route.get("/twice", ({ t }) => [t("app.hello", { name: "A" }), t("app.hello", { name: "B" })]),
      Route.get("/said", ({ response, t }) => {
        response.header("content-language", "en, de").header("vary", "cookie");
        return t("app.hello", { name: "Ada" });
      }),
      Route.get("/platform", ({ t }) => {
        return new Response(t("app.hello", { name: "Ada" }), { headers: { vary: "Accept-Encoding" } });
      }),
      Route.get("/page", ({ view }) => view.render("page")),
    ],
  });
}

async function get(application: Application, path: string, language: string | null) {
  const headers = new Headers(language === null ? {} : { "accept-language": language });
  const response = await application.fetch(new Request(`http://localhost${path}`, { headers }));
  return [await response.text(), response.headers.get("content-language"), response.headers.get("vary")];
}

const BOTH = { "lang/en.ts": ENGLISH, "lang/de.ts": GERMAN };

test("a response is in the language that the client prefers, and names it in Content-Language", async () => {
  const application = await create(BOTH);
  expect(await get(application, "/hello", "de-CH, en;q=0.5")).toEqual(["Hallo, Ada", "de", "accept-language"]);
  expect(await get(application, "/hello", "fr")).toEqual(["Hello, Ada", "en", "accept-language"]);
  expect(await get(application, "/hello", null)).toEqual(["Hello, Ada", "en", "accept-language"]);
  expect(await get(application, "/twice", "de")).toEqual(['["Hallo, A","Hallo, B"]', "de", "accept-language"]);
  expect(await get(application, "/said", "de")).toEqual(["Hallo, Ada", "en, de", "cookie, accept-language"]);
  const platform = ["Hallo, Ada", "de", "Accept-Encoding, accept-language"];
  expect(await get(application, "/platform", "de")).toEqual(platform);
});

test("a user's own language overrides Accept-Language, and the response does not vary by that header", async () => {
  expect(await get(await create(BOTH), "/mine", "en")).toEqual(["Hallo, Ada", "de", null]);
});

test("a response without translated text, or from an application with one language, has no language headers", async () => {
  expect(await get(await create(BOTH), "/plain", "de")).toEqual(["plain", null, null]);
  expect(await get(await create({ "lang/en.ts": ENGLISH }), "/hello", "de")).toEqual(["Hello, Ada", null, null]);
});

test("the default language comes from the configuration, the others from the files in lang/", async () => {
  const application = await create(BOTH, { language: "de" });
  expect(application.messages.languages).toEqual(["de", "en"]);
  expect((await get(application, "/hello", "fr"))[0]).toBe("Hallo, Ada");
});

test("declarations and tests in lang/ are not languages", async () => {
  const application = await create({
    ...BOTH,
    "lang/de.d.ts": "export declare const MESSAGES: {};",
    "lang/de.test.ts": "throw new Error('not to be loaded');",
    "lang/fr.test.js": "throw new Error('not to be loaded');",
    "lang/readme.md": "# not a module",
  });
  expect(application.messages.languages).toEqual(["en", "de"]);
});

test("templates print translated messages, escaped, and know the language", async () => {
  const [page, language] = await get(await create(BOTH), "/page", "de");
  expect([page, language]).toEqual(['<html lang="de">Hallo, &lt;Ada&gt;</html>', "de"]);
});

test("templates rendered outside of a request are in the default language", async () => {
  const application = await create(BOTH, { language: "de" });
  const page = await application.container.make("views").render("page");
  expect(page).toBe('<html lang="de">Hallo, &lt;Ada&gt;</html>');
});

test("a language that runs from right to left is marked as such on pages, in templates rendered elsewhere, and on error pages", async () => {
  const files = { ...BOTH, "lang/ar.ts": `export const MESSAGES = { "app.hello": "مرحبا {name}" };` };
  const page = { "views/page.edge": '<html lang="{{ language }}" dir="{{ direction }}">' };
  const application = await create({ ...files, ...page });
  for (const [language, direction] of [
    ["ar", "rtl"],
    ["de", "ltr"],
  ] as const) {
    expect((await get(application, "/page", language))[0]).toBe(`<html lang="${language}" dir="${direction}">`);
    const headers = { accept: "text/html", "accept-language": language };
    const error = await application.fetch(new Request("http://localhost/nowhere", { headers }));
    expect(await error.text()).toContain(`<html lang="${language}" dir="${direction}">`);
  }
  const arabic = await create({ ...files, ...page }, { language: "ar" });
  expect(await arabic.container.make("views").render("page")).toBe('<html lang="ar" dir="rtl">');
});

test("errors are in the client's language, both as a problem document and as a page", async () => {
  const application = await create(BOTH);
  const ask = async (accept: string, language = "de") => {
    const headers = { accept, "accept-language": language };
    return application.fetch(new Request("http://localhost/nowhere", { headers }));
  };
  const document = await ask("application/json");
  expect([document.headers.get("content-language"), document.headers.get("vary")]).toEqual([
    "de",
    "accept, accept-language",
  ]);
  expect(await document.json()).toMatchObject({
    title: "Nicht gefunden",
    detail: "Die Seite oder Ressource wurde nicht gefunden.",
    code: "E_NOT_FOUND",
  });
  const page = await (await ask("text/html")).text();
  expect(page).toContain('<html lang="de" dir="ltr">');
  expect(page).toContain("<h1>Seite nicht gefunden</h1>");
  expect(await (await ask("text/html", "en")).text()).toContain('<html lang="en" dir="ltr">');
});

test("an application's own error page gets its title and message in the client's language", async () => {
  const page = "{{ language }} {{ title }}: {{ message }}";
  const application = await create({ ...BOTH, "views/error.edge": page });
  const headers = { accept: "text/html", "accept-language": "de" };
  const answer = await application.fetch(new Request("http://localhost/nowhere", { headers }));
  expect(await answer.text()).toBe(
    "de Seite nicht gefunden: Unter dieser Adresse gibt es keine Seite. Prüfen Sie sie auf Tippfehler, oder beginnen Sie auf der Startseite.",
  );
  expect([answer.headers.get("content-language"), answer.headers.get("vary")]).toEqual([
    "de",
    "accept-language, accept",
  ]);
});

test("an input error is in the client's language, with its rule and parameters", async () => {
  const application = await create(BOTH);
  const ask = (language: string) => {
    const headers = { accept: "application/json", "accept-language": language };
    return application.fetch(new Request("http://localhost/number?age=old", { headers }));
  };
  const errors = (message: string) => ({ age: [{ rule: "input.integer", params: { name: "age" }, message }] });
  const german = "Das Feld „age“ muss eine ganze Zahl enthalten.";
  expect(await (await ask("de")).json()).toEqual({
    type: "about:blank",
    title: "Ungültige Eingabe",
    status: 422,
    detail: german,
    code: "E_INVALID_INPUT",
    errors: errors(german),
  });
  const english = 'The field "age" must be a whole number.';
  expect(await (await ask("en")).json()).toMatchObject({ detail: english, errors: errors(english) });
});

test.each([
  [{ "lang/deutsch-.ts": GERMAN }, {}, /^lang\/deutsch-\.ts: is not named after a language/],
  [{ "lang/de.ts": "export const TEXTS = {};" }, {}, /^lang\/de\.ts: does not export MESSAGES/],
  [{ "lang/de.ts": "export const MESSAGES = [];" }, {}, /^lang\/de\.ts: exports MESSAGES, which is not an object/],
  [{ "lang/de.ts": 'export const MESSAGES = { "app.hello": "Hallo" };' }, {}, /not a message of lang\/en\.ts/],
  [{}, { language: "english!" }, /^config\/app\.ts: APP\.language: is "english!"\. Write the tag of a language/],
  [{}, { languages: "de" }, /^config\/app\.ts: APP\.languages: is text\. Write a list of languages/],
  [{}, { languages: ["de", 7] }, /^config\/app\.ts: APP\.languages\[1\]: is 7\. Write the tag of a language/],
  [{}, { languages: ["tlh"] }, /^config\/app\.ts: APP\.languages: offers "tlh", which has no sentences/],
])("invalid languages fail startup: %j, %j", async (files, app, expected) => {
  await expect(create(files, app)).rejects.toThrow(expected);
});

test.each([
  ["/number", '{"age":', "application/json", 400, "Der Inhalt der Anfrage ist kein gültiges JSON."],
  [
    "/number",
    "age=%ff",
    "application/x-www-form-urlencoded",
    400,
    "Die Prozentkodierung ist fehlerhaft oder kein UTF-8.",
  ],
  ["/number", "x", "multipart/form-data", 400, "Der Content-Type hat keine gültige Begrenzung (boundary)."],
  ["/number", " ".repeat(2_000_000), "application/json", 413, "Der Inhalt der Anfrage ist größer als 1.048.576 Bytes."],
  ["/%ff", "{}", "application/json", 400, "Der Pfad der Anfrage ist nicht richtig kodiert."],
])("a request error is in the client's language: %s with %j", async (path, body, type, status, detail) => {
  const application = await create(BOTH);
  const headers = { accept: "application/json", "accept-language": "de", "content-type": type };
  const answer = await application.fetch(new Request(`http://localhost${path}`, { method: "POST", headers, body }));
  expect(await answer.json()).toMatchObject({ status, detail });
});
