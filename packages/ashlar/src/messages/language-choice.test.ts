import { expect, test } from "vitest";
import { languageOfClient, languageOfUser } from "./language-choice.ts";

const OFFERED = ["en", "de"];

test("the language of a user is the user's own, if it is offered", () => {
  const of = (language: unknown) => languageOfUser({ language }, OFFERED);
  expect([of("de"), of("de-CH"), of("fr"), of(""), of(null), of(7)]).toEqual(["de", "de", null, null, null, null]);
  expect([languageOfUser({}, OFFERED), languageOfUser(null, OFFERED)]).toEqual([null, null]);
  expect([of(`de-${"a-".repeat(5000)}b`), of(`${"es,".repeat(5000)}de`)]).toEqual([null, null]);
});

test("the language of a client is the best by Accept-Language, or the default one if none of its languages is offered", () => {
  const of = (header: string | null) => languageOfClient(header, OFFERED);
  expect([of("fr, de;q=0.5"), of("de-CH"), of("fr"), of(""), of(null)]).toEqual(["de", "de", "en", "en", "en"]);
});
