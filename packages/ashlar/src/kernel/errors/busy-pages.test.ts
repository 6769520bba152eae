import { describe, expect, test } from "vitest";
import { Catalogue } from "../../messages/index.ts";
import { busyPageFor, busyPages } from "./busy-pages.ts";
import { declareErrorMessages } from "./messages.ts";

async function pagesIn(...languages: string[]) {
  const messages = new Catalogue(languages[0], languages);
  declareErrorMessages(messages);
  await messages.load(
    languages
      .filter((language) => language !== "en" && language !== "de")
      .map((language) => ({
        file: `lang/${language}.ts`,
        language,
        sentences: { "errors.tryAgain": "إعادة المحاولة" },
      })),
  );
  return busyPages(messages);
}

describe("the pages of a busy server", () => {
  test("are in each of the application's languages, chosen by the browser's preference", async () => {
    const pages = await pagesIn("en", "de", "ar");
    expect(busyPageFor(pages, "de-CH,de;q=0.9,en;q=0.8").opened).toContain('<html lang="de" dir="ltr">');
    expect(busyPageFor(pages, "ar").opened).toContain('<html lang="ar" dir="rtl">');
    expect(busyPageFor(pages, "fr").opened).toContain('<html lang="en" dir="ltr">');
    expect(busyPageFor(pages, undefined).opened).toContain("<h1>Not available right now</h1>");
  });

  test("lead to the requested page, and say that a sent form was not accepted", async () => {
    const { opened, sent } = busyPageFor(await pagesIn("en"), "en");
    expect(opened).toContain('<a class="button" href="">Try again</a>');
    expect(sent).not.toContain("<a ");
    expect(sent).toContain(
      "what you sent was not accepted. Wait a few seconds, and reload this page: that sends it again.",
    );
  });

  test("S41 show a translation as text", async () => {
    const messages = new Catalogue();
    declareErrorMessages(messages);
    const sentences = { "errors.busy": "<b>Busy</b>" };
    await messages.load([{ file: "lang/en.ts", language: "en", sentences }]);
    expect(busyPageFor(busyPages(messages), "en").opened).toContain("<p>&lt;b&gt;Busy&lt;/b&gt;</p>");
  });
});
