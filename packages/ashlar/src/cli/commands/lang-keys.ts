import { Command } from "commander";
import { AshlarError } from "../../support/index.ts";
import { loadApplication } from "../load-application.ts";
import type { Terminal } from "../terminal.ts";

/** `lang:keys`: lists the sentences of the application and its features, in the form of `lang/en.ts`. */
export function langKeysCommand(terminal: Terminal): Command {
  return new Command("lang:keys")
    .description("Lists the keys of all sentences, with the English sentence.")
    .argument("[prefix]", "only keys that begin with it, such as pages.welcome")
    .addHelpText(
      "after",
      "\nTo change a sentence, copy its line into MESSAGES in lang/en.ts: the keys are listed as written there.",
    )
    .action(async (prefix: string = "") => {
      const application = await loadApplication(terminal.root);
      try {
        const sentences = [...application.messages.sentencesIn("en")].filter(([key]) => key.startsWith(prefix));
        if (sentences.length === 0) {
          throw new AshlarError("E_COMMAND", `No key begins with "${prefix}". Run: npx ashlar lang:keys`);
        }
        for (const [key, sentence] of sentences.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
          terminal.print(`${JSON.stringify(key)}: ${JSON.stringify(sentence)},`);
        }
      } finally {
        await application.shutdown();
      }
    });
}
