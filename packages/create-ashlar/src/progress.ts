import { styleText } from "node:util";
import { log, S_BAR, unicode } from "@clack/prompts";

/** Shows a step's progress: an animated line in a terminal, otherwise one line at its start and one at its end. */
export interface Progress {
  /** Prints one line. */
  say(text: string): void;
  /**
   * Prints that a step begins.
   *
   * @returns a function to call with the line that replaces it
   */
  begin(text: string): { done(text: string): void; failed(text: string): void };
}

/** For pipes and files. */
export const LINES: Progress = {
  say: (text) => console.log(text),
  begin: (text) => {
    console.log(`${text} …`);
    return { done: (line) => console.log(line), failed: () => {} };
  },
};

const FRAMES = unicode ? ["◒", "◐", "◓", "◑"] : ["•", "o", "O", "0"];
const FRAME_MS = 80;
const CLEAR_LINE = "\r\u001b[2K";
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";

/**
 * For a terminal, in the style of the prompts. Their own spinner would read Ctrl+C as a key, and exit before anything is
 * cleaned up.
 */
export const TERMINAL: Progress = {
  say: (text) => log.step(text),
  begin: (text) => {
    const { stdout } = process;
    let frame = 0;
    const draw = (): void => {
      const sign = styleText("magenta", FRAMES[frame++ % FRAMES.length]!);
      // A line that wraps couldn't be replaced.
      stdout.write(`${CLEAR_LINE}${sign}  ${`${text} …`.slice(0, Math.max(0, (stdout.columns || 80) - 4))}`);
    };
    stdout.write(`${styleText("gray", S_BAR)}\n${HIDE_CURSOR}`);
    draw();
    const timer = setInterval(draw, FRAME_MS);
    const end = (): void => {
      clearInterval(timer);
      // The line above it is the bar, which the next step draws again.
      stdout.write(`${CLEAR_LINE}\u001b[1A${CLEAR_LINE}${SHOW_CURSOR}`);
    };
    return {
      done: (line) => {
        end();
        log.success(line);
      },
      failed: (line) => {
        end();
        log.error(line);
      },
    };
  },
};
