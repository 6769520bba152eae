import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeContext } from "../../test/support/http-context.ts";
import { folderWith } from "../../test/support/temporary-folder.ts";
import { RequestValues, Views } from "./views.ts";

/** Views with a template `page` that has this text. */
function viewsOf(template: string): Views {
  const directory = folderWith({});
  writeFileSync(join(directory, "page.edge"), template);
  return new Views({ directory, cache: true });
}

test("a request's value is created once, even if it is undefined", async () => {
  const views = viewsOf("{{ nothing === undefined }} {{ nothing === undefined }}");
  let made = 0;
  views.shareByRequest("nothing", () => void made++);
  expect([await views.render("page", {}, new RequestValues(makeContext())), made]).toEqual(["true true", 1]);
});

test("data takes precedence over values shared for a request, and those over values created for each", async () => {
  const views = viewsOf("{{ a }} {{ b }} {{ c }}");
  for (const name of ["a", "b", "c"]) views.shareByRequest(name, () => "made");
  const values = new RequestValues(makeContext());
  values.share({ a: "shared", b: "shared" });
  expect(await views.render("page", { a: "data" }, values)).toBe("data shared made");
});

test("an error uses the names of the template", async () => {
  await expect(viewsOf("{{ missing() }}").render("page")).rejects.toThrow(/: missing is not a function$/);
});

test("a missing template is named once, with its extension", async () => {
  const error: unknown = await viewsOf("")
    .render("other.edge")
    .catch((reason: unknown) => reason);
  expect(String(error)).toContain("/other.edge does not exist");
});
