import { AssertionError } from "node:assert";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type FieldValues, submissionOf } from "./form-filling.ts";
import { chooseForm } from "./form-selector.ts";
import { formsOf } from "./html-forms.ts";

function submit(html: string, values: FieldValues = {}) {
  return submissionOf(formsOf(`<form method=post>${html}</form>`)[0]!, values, submit);
}

/** The fields that are sent. */
function sent(html: string, values: FieldValues = {}): unknown[] {
  return submit(html, values).entries.map(([name, value]) => `${name}=${typeof value === "string" ? value : "file"}`);
}

function failureOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(AssertionError);
    return (error as AssertionError).message;
  }
  throw new Error("It did not fail.");
}

describe("untouched fields", () => {
  test("are sent unchanged: hidden fields, text, checked boxes, selected options, the first button", () => {
    const html = `<input type=hidden name=__token value=t><input name=a value="1"><textarea name=b>x\ny</textarea>
      <input type=checkbox name=c><input type=checkbox name=d checked><input type=radio name=e value=1><input type=radio name=e
      value=2 checked><select name=f><option>1<option>2</select><select name=g multiple><option>1<option selected>2</select>
      <input><button type=button name=h>no</button><button name=i value=first></button><button name=j value=second></button>`;
    expect(sent(html)).toEqual(["__token=t", "a=1", "b=x\r\ny", "d=on", "e=2", "f=1", "g=2", "i=first"]);
  });

  test("disabled controls are not sent", () => {
    const html =
      "<input name=a disabled><fieldset disabled><input name=b></fieldset><button disabled name=c></button><button name=d>";
    expect(sent(html)).toEqual(["d="]);
  });

  test("a file input sends an empty file, as browsers do", () => {
    const [[name, file]] = submit("<input type=file name=photo>").entries as unknown as [[string, File]];
    expect({ name, fileName: file.name, size: file.size }).toEqual({ name: "photo", fileName: "", size: 0 });
  });
});

describe("text", () => {
  test("accepts text and numbers, is emptied by null, and is left unchanged by undefined", () => {
    const html = "<input name=a value=1><input name=b value=1><input name=c value=1><textarea name=d>1</textarea>";
    expect(sent(html, { a: "x", b: 7, c: null, d: undefined })).toEqual(["a=x", "b=7", "c=", "d=1"]);
  });

  test("a list fills fields with the same name in order, and leaves the rest unchanged", () => {
    const html = '<input name="tag[]" value=1><input name="tag[]" value=2><input name="tag[]" value=3>';
    expect(sent(html, { "tag[]": ["x", "y"] })).toEqual(["tag[]=x", "tag[]=y", "tag[]=3"]);
    expect(failureOf(() => sent(html, { "tag[]": ["a", "b", "c", "d"] }))).toContain(
      'has 3 fields "tag[]" for 4 values',
    );
  });

  test("a hidden field can be set if it is the only one with its name", () => {
    expect(sent("<input type=hidden name=a value=1>", { a: "2" })).toEqual(["a=2"]);
  });

  test.each([true, new Blob(["x"]), [new Blob(["x"])]])("it accepts nothing else", (value) => {
    expect(failureOf(() => sent("<input name=a>", { a: value as FieldValues[string] }))).toContain(
      'takes text in the field "a"',
    );
  });

  test("the input is sent unchanged, with line breaks as CRLF", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(submit("<textarea name=a></textarea>", { a: text }).entries).toEqual([
          ["a", text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").replaceAll("\n", "\r\n")],
        ]);
      }),
    );
  });
});

describe("checkboxes and radio buttons", () => {
  test("a single checkbox is checked and unchecked, and the hidden field next to it stays", () => {
    const html = "<input type=hidden name=a value=0><input type=checkbox name=a value=1>";
    expect(sent(html, { a: true })).toEqual(["a=0", "a=1"]);
    expect(sent(html.replace(">", " checked>"), { a: false })).toEqual(["a=0"]);
  });

  test("of several checkboxes, those with the given values are checked", () => {
    const html = ["x", "y", "z"].map((value) => `<input type=checkbox name="t[]" value=${value} checked>`).join("");
    expect(sent(html, { "t[]": ["x", "z"] })).toEqual(["t[]=x", "t[]=z"]);
    expect(sent(html, { "t[]": "y" })).toEqual(["t[]=y"]);
    expect(sent(html, { "t[]": [] })).toEqual([]);
    expect(failureOf(() => sent(html, { "t[]": true }))).toContain(
      'does not offer true in the field "t[]", but "x", "y", "z"',
    );
  });

  test("a radio button is selected by its value", () => {
    const html = "<input type=radio name=r value=1 checked><input type=radio name=r value=2>";
    expect(sent(html, { r: 2 })).toEqual(["r=2"]);
    expect(failureOf(() => sent(html, { r: ["1", "2"] }))).toContain('takes one choice in the field "r", not 2');
  });

  test("an option that the page does not offer cannot be selected", () => {
    expect(failureOf(() => sent("<input type=radio name=r value=1>", { r: "9" }))).toContain(
      'does not offer "9" in the field "r"',
    );
    expect(failureOf(() => sent("<input type=checkbox name=c value=1>", { c: "9" }))).toContain('does not offer "9"');
  });
});

describe("selects", () => {
  const html = "<select name=s><option value=1>One<option value=2>Two<option value=3 disabled>Three</select>";

  test("an option is selected by its value", () => {
    expect(sent(html, { s: 2 })).toEqual(["s=2"]);
    expect(sent(html.replace("<select", "<select multiple"), { s: ["1", "2"] })).toEqual(["s=1", "s=2"]);
    expect(sent(html.replace("<select", "<select multiple"), { s: null })).toEqual([]);
  });

  test.each([["3"], ["Two"], [true]])("%s is not offered", (value) => {
    expect(failureOf(() => sent(html, { s: value }))).toContain(
      `does not offer ${JSON.stringify(value)} in the field "s", but "1", "2"`,
    );
  });

  test("a single choice cannot have two values", () => {
    expect(failureOf(() => sent(html, { s: ["1", "2"] }))).toContain('takes one choice in the field "s"');
  });
});

describe("files", () => {
  test("a file, or several if the page accepts several", () => {
    const [one, two] = [new File(["1"], "1.txt"), new File(["2"], "2.txt")];
    expect(submit("<input type=file name=f>", { f: one }).entries).toEqual([["f", one]]);
    expect(submit("<input type=file name=f multiple>", { f: [one, two] }).entries).toEqual([
      ["f", one],
      ["f", two],
    ]);
    expect(failureOf(() => submit("<input type=file name=f>", { f: [one, two] }))).toContain("takes one file");
    expect(failureOf(() => submit("<input type=file name=f multiple>", { f: "cat.png" }))).toContain("takes files");
  });
});

describe("buttons", () => {
  const html =
    '<button name=do value=save>Save</button><button name=do value=delete formaction="/x" formmethod=get>Delete</button>';

  test("a button other than the first is selected by its value, and sets where the form is sent", () => {
    expect(submit(html)).toMatchObject({ method: "POST", action: "", entries: [["do", "save"]] });
    expect(submit(html, { do: "delete" })).toMatchObject({ method: "GET", action: "/x", entries: [["do", "delete"]] });
  });

  test("a missing button cannot be pressed", () => {
    expect(failureOf(() => submit(html, { do: "print" }))).toContain('has these buttons "do": "save", "delete"');
    expect(failureOf(() => submit(html, { do: true }))).toContain("has these buttons");
  });

  test("true presses the only one with its name", () => {
    expect(sent("<button name=a value=1></button><button name=b value=2></button>", { b: true })).toEqual(["b=2"]);
  });
});

describe("the form itself", () => {
  test.each([
    ["", "GET", false],
    ["method=POST", "POST", false],
    ["method=put", "GET", false],
    ['method=post enctype="multipart/form-data"', "POST", true],
  ])("<form %s> is sent by %s", (attributes, method, isMultipart) => {
    const form = formsOf(`<form ${attributes} action=" /a "></form>`)[0]!;
    expect(submissionOf(form, {}, submit)).toEqual({ method, isMultipart, action: "/a", entries: [] });
  });

  test("a dialog's form sends nothing", () => {
    expect(failureOf(() => submissionOf(formsOf("<form method=dialog>")[0]!, {}, submit))).toContain("closes a dialog");
  });

  test("an unknown field is an error, with similar ones or all of them", () => {
    expect(failureOf(() => sent("<input name=email><input name=b>", { emial: "x" }))).toContain(
      'has no field "emial". Did you mean "email"?',
    );
    expect(failureOf(() => sent("<input name=a><input name=b>", { something: "x" }))).toContain(
      'Its fields are "a", "b".',
    );
    expect(failureOf(() => sent("<input name=a disabled>", { a: "x" }))).toContain("which is disabled");
  });
});

describe("which form", () => {
  const forms = formsOf(`<form id=a class="x y" action="/orders/1" data-n="1"><input name=p></form>
    <form id=b class=x action="/orders/2"><input name=p><input name=q></form>`);

  function chosen(selector: string | null, fields: string[] = []): string | undefined {
    return chooseForm(forms, selector, fields, "GET / returned 200 OK", chosen).attributes.get("id");
  }

  test.each([
    ["#b", "b"],
    ["form#a", "a"],
    [".y", "a"],
    [".x[data-n]", "a"],
    ['[action="/orders/2"]', "b"],
    ["[action='/orders/2']", "b"],
    ["[data-n=1]", "a"],
    ['form[action$="/1"]', "a"],
    ['[action^="/orders"][id*="b"]', "b"],
  ])("%s", (selector, id) => {
    expect(chosen(selector)).toBe(id);
  });

  test("the only one of the selected forms that has all the fields", () => {
    expect(chosen(null, ["q"])).toBe("b");
    expect(chosen(".x", ["q", "p"])).toBe("b");
  });

  test("the failure lists the available forms", () => {
    expect(failureOf(() => chosen("#c"))).toBe(
      `No form is selected by #c. The page has these forms:
  <form id="a" class="x y" action="/orders/1"> with "p"
  <form id="b" class="x" action="/orders/2"> with "p", "q"
GET / returned 200 OK`,
    );
    expect(failureOf(() => chosen(null))).toContain("There are several forms. Say which one is meant");
    expect(failureOf(() => chosen(null, ["p"]))).toContain('Several forms have these fields: "p"');
    expect(failureOf(() => chosen(null, ["z"]))).toContain('None of the forms has all of these fields: "z"');
    expect(failureOf(() => chooseForm([], null, [], "page", chosen))).toBe("The page has no form.\npage");
  });

  test.each(["div > form", "#", "[", "form form", "*"])("%s is not a selector", (selector) => {
    expect(failureOf(() => chosen(selector))).toContain("selects no form: write");
  });
});
