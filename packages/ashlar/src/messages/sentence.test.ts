import { expect, test } from "vitest";
import { Catalogue } from "./catalogue.ts";
import { messagesOf, translated } from "./sentence.ts";

const SHOP = { "shop.sold": "Sold by {owner}.", "shop.owner": "the shop of {name}" } as const;
const GERMAN = { "shop.sold": "Verkauft von {owner}.", "shop.owner": "dem Laden von {name}" };

test("a message is translated together with the messages that it contains", async () => {
  const catalogue = new Catalogue("en", ["de"]);
  catalogue.declare(SHOP, { de: () => Promise.resolve({ MESSAGES: GERMAN }) });
  await catalogue.load();
  const message = messagesOf(SHOP);
  const sold = message("shop.sold", { owner: message("shop.owner", { name: "Ada" }) });
  expect(translated(sold, catalogue.translator("de"))).toEqual({
    rule: "shop.sold",
    params: { owner: { rule: "shop.owner", params: { name: "Ada" }, message: "dem Laden von Ada" } },
    message: "Verkauft von dem Laden von Ada.",
  });
});

test("a message's dates and durations stay as they are when it is translated", () => {
  const params = { end: new Date("2026-01-31T15:04:00Z"), lifetime: { minutes: 5 }, count: 2 };
  const message = { rule: "shop.kept", params, message: "Kept." };
  expect(translated(message, () => "Aufbewahrt.")).toEqual({ ...message, message: "Aufbewahrt." });
});
