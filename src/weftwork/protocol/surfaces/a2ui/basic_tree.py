"""The tree of components of the basic catalogue, read into components of a surface.

The tree is walked from its root, in document order. Fields and buttons keep their order; layout is dropped, because a
surface is a flat list. Data bindings of texts are resolved once, from the final data model.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.surfaces.a2ui.markdown import unescape_markdown
from weftwork.protocol.surfaces.a2ui.streams import MAX_TREE_COMPONENTS, Diagnostics, LiveSurface, path_tokens
from weftwork.protocol.surfaces.a2ui.texts import NotText, resolve_text
from weftwork.protocol.surfaces.a2ui.vocabulary import DISABLED, EVENTS, EXCHANGE, NEVER, ROOT, TITLE, VALUES, Escape
from weftwork.protocol.surfaces.limits import MAX_LABEL, MAX_TITLE, is_component_id

Json = dict[str, Any]
MAX_DEPTH: Final = 16
"""Levels of the tree of components."""
_HEADING: Final = re.compile(r"(#{1,6}) ([^\n]*)")
_CHECKS: Final = ("required", "regex", "length", "numeric", "email", "and", "or", "not")
"""Functions of the basic catalogue that check a value."""
_COMMON: Final = frozenset({"id", "component", "accessibility", "weight"})
_MEMBERS: Final[dict[str, frozenset[str]]] = {
    "Text": frozenset({"text", "variant"}),
    "Column": frozenset({"children", "justify", "align"}),
    "Row": frozenset({"children", "justify", "align"}),
    "List": frozenset({"children", "direction", "align"}),
    "Card": frozenset({"child"}),
    "Tabs": frozenset({"tabs"}),
    "Divider": frozenset({"axis"}),
    "Icon": frozenset({"name"}),
    "Image": frozenset({"url", "description", "fit", "variant"}),
    "Video": frozenset({"url"}),
    "AudioPlayer": frozenset({"url", "description"}),
    "TextField": frozenset({"label", "value", "variant", "validationRegexp", "checks"}),
    "CheckBox": frozenset({"label", "value", "checks"}),
    "ChoicePicker": frozenset({"label", "variant", "options", "value", "displayStyle", "filterable", "checks"}),
    "DateTimeInput": frozenset({"label", "value", "enableDate", "enableTime", "min", "max", "checks"}),
    "Button": frozenset({"child", "variant", "action", "checks"}),
}
"""The members of the components that are read. Slider and Modal are refused."""
_LAYOUT: Final = {"Row": "row", "Card": "card", "List": "list"}
_MEDIA: Final = {"Image": "Image", "Video": "Video", "AudioPlayer": "Audio"}


class BasicTree:
    """Reads the components of one surface, once."""

    def __init__(self, surface: LiveSurface, escape: Escape, diagnostics: Diagnostics) -> None:
        self._components: list[tuple[Json, str]] = []
        """The components of the surface, each with the pointer of its origin."""
        self._bound: dict[str, Json] = {}
        """The field of each path in the data model."""
        self._needed: list[set[str]] = []
        """For each button, the paths without whose values it does not work."""
        self._surface = surface
        self._unescape: Callable[[str], str] = unescape_markdown if escape == "markdown" else str
        self._diagnostics = diagnostics
        self._refuse, self._lose = diagnostics.refuse, diagnostics.lose
        self._scope = ""
        """The path of the item of a template to which relative paths belong."""
        self._seen: set[tuple[str, str]] = set()
        """Components in the tree, each with its scope."""
        self._steps = 0
        self._has_title = False
        self._events: dict[str, int] = {}
        """How many buttons send an event of this name."""

    def read(self) -> tuple[str | None, list[tuple[Json, str]]]:
        """The title, and the components with their origins. What is not converted is a diagnostic."""
        root = self._surface.components[ROOT]
        for each in self._surface.components.values():
            name = _event_name(each)
            if name is not None:
                self._events[name] = self._events.get(name, 0) + 1
        title = self._title(root)
        self._walk(ROOT, self._place(ROOT), 1)
        for name in self._surface.components.keys() - {each for each, _ in self._seen}:
            if not self._diagnostics.is_refused:
                self._lose(self._place(name), "The component was dropped: it is not part of the tree below the root.")
        self._apply_button_checks()
        return title, self._components

    def _place(self, name: str) -> str:
        return self._surface.places[name]

    def _title(self, root: Json) -> str | None:
        """The text of the component with the id `title`, if it is the first one below the root."""
        children = root.get("children")
        component = self._surface.components.get(TITLE)
        if component is None or component.get("component") != "Text" or not is_array(children) or not children:
            return None
        text = component.get("text")
        if children[0] != TITLE or not isinstance(text, str) or len(text) > MAX_TITLE:
            return None
        self._seen.add((TITLE, ""))
        self._has_title = True
        return self._unescape(text) if component.get("variant", "body") == "body" else text

    def _walk(self, name: str, referrer: str, depth: int) -> None:
        component = self._surface.components.get(name)
        if component is None:
            self._refuse(referrer, "A child of this component never arrived, so the surface is not complete.")
            return
        if (name, self._scope) in self._seen:
            self._refuse(referrer, "A child of this component is in the tree already. The tree must not have cycles.")
            return
        at = self._place(name)
        if depth > MAX_DEPTH:
            self._refuse(at, f"The tree of components is deeper than {MAX_DEPTH} levels.")
            return
        self._steps += 1
        if self._steps > MAX_TREE_COMPONENTS:
            self._refuse(
                at, f"With the items of its templates, the tree has more than {MAX_TREE_COMPONENTS} components."
            )
            return
        self._seen.add((name, self._scope))
        kind = component["component"]
        known = _MEMBERS.get(kind)
        if known is None:
            self._refuse(f"{at}/component", "A surface has no component of this type, and none that is equal to it.")
            return
        if _calls_out(component):
            text = "The component calls a function on the client or opens an address, which no surface does."
            self._refuse(at, text)
            return
        for member in component.keys() - known - _COMMON:
            self._lose(
                f"{at}/{printable_token(member)}", "The member was dropped: the component has none of this name."
            )
        match kind:
            case "Column" | "Row" | "List" | "Card":
                self._container(component, at, depth)
            case "Tabs":
                self._tabs(component, at, depth)
            case "Divider" | "Icon":
                self._lose(at, "The component was dropped: it is only a decoration.")
            case "Text":
                self._text_component(component, at)
            case "Image" | "Video" | "AudioPlayer":
                self._media(component, at)
            case "Button":
                self._button(component, at)
            case _:
                self._field(component, at)

    def _container(self, component: Json, at: str, depth: int) -> None:
        kind = component["component"]
        if kind in _LAYOUT:
            self._lose(at, f"The {_LAYOUT[kind]} was dropped: the components of a surface are below each other.")
        children: Any = [component.get("child")] if kind == "Card" else component.get("children")
        if is_object(children) and set(children) == {"componentId", "path"}:
            self._template(children, f"{at}/children", at, depth)
            return
        if not is_array(children) or not all(isinstance(each, str) for each in children):
            where = f"{at}/child" if kind == "Card" else f"{at}/children"
            self._refuse(where, "The children must be ids of components, or a template with componentId and path.")
            return
        self._walk_all(children[1:] if component["id"] == ROOT and self._has_title else children, at, depth)

    def _walk_all(self, children: list[Any], at: str, depth: int) -> None:
        for child in children:
            if self._steps > MAX_TREE_COMPONENTS:
                return
            self._walk(child, at, depth + 1)

    def _template(self, template: Json, place: str, at: str, depth: int) -> None:
        """One child for each item of a list in the data model. Relative paths below it belong to the item."""
        name, path = template["componentId"], template["path"]
        items = self._value_at(path) if isinstance(path, str) else None
        if not isinstance(name, str) or not is_array(items):
            self._refuse(place, "A template must have the id of a component, and the path of a list that has arrived.")
            return
        outer, list_path = self._scope, self._absolute(path)
        for index in range(len(items)):
            if self._steps > MAX_TREE_COMPONENTS:
                break
            self._scope = f"{list_path}/{index}"
            self._walk(name, at, depth + 1)
        self._scope = outer

    def _tabs(self, component: Json, at: str, depth: int) -> None:
        """A heading for each tab, and what is on it."""
        self._lose(at, "The tabs were dropped: their contents are below each other, each with its title as a heading.")
        tabs = component.get("tabs")
        for index, tab in enumerate(tabs if is_array(tabs) else [None]):
            title = self._text(tab, "title", f"{at}/tabs/{index}") if is_object(tab) else None
            if not is_object(tab) or title is None or not isinstance(tab.get("child"), str):
                self._refuse(f"{at}/tabs/{index}", "A tab must be an object with a title and the id of a child.")
                return
            self._add(at, "heading", text=title, level=3)
            self._walk_all([tab["child"]], at, depth)

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._scope}/{path}"

    def _value_at(self, path: str) -> Any:
        return self._surface.value_at(self._absolute(path))

    def _add(self, at: str, component: str, **members: Any) -> Json:
        added: Json = {"component": component, **members}
        self._components.append((added, at))
        return added

    def _text_component(self, component: Json, at: str) -> None:
        text = self._text(component, "text", at)
        variant = component.get("variant", "body")
        if text is None:
            return
        if variant in ("h1", "h2", "h3", "h4", "h5"):
            self._add(at, "heading", text=text, level=int(variant[1]))
        elif variant not in ("body", "caption"):
            self._refuse(f"{at}/variant", "The variant must be h1, h2, h3, h4, h5, caption or body.")
        elif variant == "body" and self._unescape is unescape_markdown and (match := _HEADING.fullmatch(text)):
            self._add(at, "heading", text=self._unescape(match[2]), level=len(match[1]))
        else:
            self._add(at, "text", text=self._unescape(text) if variant == "body" else text)

    def _media(self, component: Json, at: str) -> None:
        kind = _MEDIA[component["component"]]
        description = self._text(component, "description", at) if "description" in component else ""
        notice = f"[{kind} not shown: {description}]" if description else f"[{kind} not shown]"
        self._lose(at, "The media was refused: a surface contains no addresses. Its description is shown as text.")
        self._add(at, "text", text=notice)

    def _field(self, component: Json, at: str) -> None:
        value: Any = component.get("value")
        required = self._checks(component, at)
        initial = self._initial(value, f"{at}/value")
        common: Json = {"id": self._field_id(component), "label": self._label(component, at)}
        if component["component"] == "CheckBox":
            if required:
                self._lose(f"{at}/checks", "The check was dropped: a checkbox of a surface cannot be required.")
            added = self._add(at, "field.checkbox", **common, **({"default": True} if initial is True else {}))
        else:
            if initial not in (None, "", []):
                self._lose(f"{at}/value", "The initial value was dropped: a field of a surface starts empty.")
            if required:
                common["required"] = True
            added = self._typed_field(component, at, common)
        if is_object(value) and isinstance(path := value.get("path"), str):
            self._bound[self._absolute(path)] = added

    def _typed_field(self, component: Json, at: str, common: Json) -> Json:
        if component["component"] == "TextField":
            self._check_text_variant(component, at)
            return self._add(at, "field.text", **common, **self._placeholder(component, at))
        if component["component"] == "ChoicePicker":
            return self._add(at, "field.select", **common, options=self._options(component, at))
        if component.get("enableDate") is not True or component.get("enableTime", False) is not False:
            self._refuse(at, "A surface has fields for a date only, with enableDate true and enableTime false.")
        for member in ("min", "max"):
            if member in component:
                self._lose(f"{at}/{member}", "The limit was dropped: a date field of a surface has none.")
        return self._add(at, "field.date", **common)

    def _check_text_variant(self, component: Json, at: str) -> None:
        variant = component.get("variant", "shortText")
        if variant == "obscured":
            self._refuse(f"{at}/variant", "A surface must not ask for secrets: it has no obscured field.")
        elif variant in ("longText", "number"):
            self._lose(f"{at}/variant", "The variant was dropped: the field takes one line of any text.")
        elif variant != "shortText":
            self._refuse(f"{at}/variant", "The variant must be shortText, longText or number.")
        if "validationRegexp" in component:
            self._lose(f"{at}/validationRegexp", "The pattern was dropped: a field of a surface has none.")

    def _placeholder(self, component: Json, at: str) -> Json:
        about = component.get("accessibility")
        text = about.get("description") if is_object(about) else None
        if not isinstance(text, str):
            return {}
        if len(text) > MAX_LABEL:
            self._lose(f"{at}/accessibility/description", f"The description has more than {MAX_LABEL} characters.")
            return {}
        return {"placeholder": text}

    def _options(self, component: Json, at: str) -> list[Json]:
        if component.get("variant", "mutuallyExclusive") != "mutuallyExclusive":
            self._refuse(f"{at}/variant", "A field takes one option; the variant must be mutuallyExclusive.")
        options = component.get("options")
        if not is_array(options):
            self._refuse(f"{at}/options", "The options must be a list.")
            return []
        found: list[Json] = []
        for index, option in enumerate(options):
            place = f"{at}/options/{index}"
            if not is_object(option) or not isinstance(option.get("value"), str):
                self._refuse(place, "An option must be an object with the texts label and value.")
                continue
            found.append({"value": option["value"], "label": self._text(option, "label", place) or ""})
        return found

    def _button(self, component: Json, at: str) -> None:
        action = component.get("action")
        event: Any = action.get("event") if is_object(action) else None
        event_name = _event_name(component)
        if event_name is None or not is_object(action) or len(action) != 1:
            self._refuse(f"{at}/action", "The action of a button must be one event with a name.")
            return
        context: Any = event.get("context", {})
        context = context if is_object(context) else {}
        if event_name in EVENTS.values():
            name: Any = context.get("actionId")
        else:
            name = event_name if self._events[event_name] == 1 and not self._scope else None
        if not isinstance(name, str) or not is_component_id(name):
            name = ".".join([component["id"], *path_tokens(self._scope)])
        for member, value in context.items():
            if member != "actionId" and not (is_object(value) and set(value) == {"path"}):
                place = f"{at}/action/event/context/{printable_token(member)}"
                self._lose(place, "The value was dropped: a button sends its id and the values of the fields.")
        self._checks(component, at, is_button=True)
        target = "exchange" if event_name == EXCHANGE else "resume"
        self._add(at, "action.button", id=name, label=self._button_label(component, at), action={"target": target})

    def _button_label(self, component: Json, at: str) -> str:
        """The texts below a button. Without one, its accessible label."""
        texts: list[str] = []
        self._collect_texts(component.get("child"), at, 1, texts)
        about = component.get("accessibility")
        label = about.get("label") if is_object(about) else None
        if not texts and isinstance(label, str):
            texts = [label]
        if not texts:
            self._refuse(f"{at}/child", "A button must have a text below it, or an accessible label.")
        return " ".join(texts)

    def _collect_texts(self, name: Any, at: str, depth: int, texts: list[str]) -> None:
        component = self._surface.components.get(name) if isinstance(name, str) else None
        if component is None or (name, self._scope) in self._seen or depth > MAX_DEPTH:
            self._refuse(at, "The child of a button must be a component that has arrived and has no other parent.")
            return
        self._seen.add((name, self._scope))
        place = self._place(name)
        match component["component"]:
            case "Text":
                text = self._text(component, "text", place)
                if text is not None:
                    texts.append(self._unescape(text) if component.get("variant", "body") == "body" else text)
            case "Icon":
                self._lose(place, "The icon of a button was dropped.")
            case "Row" | "Column":
                children = component.get("children")
                for child in children if is_array(children) else [None]:
                    self._collect_texts(child, place, depth + 1, texts)
            case _:
                self._refuse(place, "Below a button, only texts and icons can be read.")

    def _checks(self, component: Json, at: str, is_button: bool = False) -> bool:
        """Whether a field is required. Other checks are losses; a button that never works refuses the surface."""
        checks: Any = component.get("checks", [])
        required, needed = False, set[str]()
        for index, check in enumerate(checks if is_array(checks) else [None]):
            place = f"{at}/checks/{index}"
            condition: Any = check.get("condition") if is_object(check) else None
            if is_button and _never_holds(condition):
                self._refuse(place, DISABLED)
                return False
            call = condition.get("call") if is_object(condition) else None
            if call == "required" and is_object(args := condition.get("args")):
                value: Any = args.get("value")
                if is_button and is_object(value) and isinstance(path := value.get("path"), str):
                    needed.add(self._absolute(path))
                    continue
                if not is_button and value == component.get("value"):
                    required = True
                    continue
            if call is None and condition is not True and not is_object(condition):
                self._refuse(place, "A check must be an object with a condition.")
            elif call is not None and call not in _CHECKS:
                self._refuse(place, "The check calls a function that is not one of the basic catalogue's checks.")
            else:
                self._lose(place, "The check was dropped: a surface knows only whether its own field is required.")
        if is_button:
            self._needed.append(needed)
        return required

    def _apply_button_checks(self) -> None:
        """A field that every button needs is required. One that only some of them need is not, which is a loss."""
        for path in dict.fromkeys(path for paths in self._needed for path in sorted(paths)):
            field = self._bound.get(path)
            if field is not None and field.get("required") is True:
                continue
            if field is not None and field["component"] != "field.checkbox" and all(path in p for p in self._needed):
                field["required"] = True
            else:
                at = next(place for each, place in self._components if each["component"] == "action.button")
                self._lose(f"{at}/checks", "A check was dropped: a value that not every button needs is optional.")

    def _field_id(self, component: Json) -> str:
        """The id of a field: from the path of its value, so that an export and an import give the same id."""
        value: Any = component.get("value")
        path = value.get("path") if is_object(value) else None
        if isinstance(path, str):
            tokens = path_tokens(self._absolute(path))
            below_values = len(tokens) > 1 and f"/{tokens[0]}" == VALUES
            name = ".".join(tokens[1:] if below_values else tokens)
            if is_component_id(name):
                return name
        return ".".join([component["id"], *path_tokens(self._scope)])

    def _label(self, component: Json, at: str) -> str:
        if "label" in component:
            return self._text(component, "label", at) or ""
        about = component.get("accessibility")
        label = about.get("label") if is_object(about) else None
        if isinstance(label, str):
            return label
        self._lose(at, "The field has no label; its id became the label.")
        return component["id"]

    def _initial(self, value: Any, at: str) -> Any:
        if is_object(value):
            path = value.get("path")
            if set(value) == {"path"} and isinstance(path, str):
                return self._value_at(path)
            self._refuse(at, "The value of a field must be a literal or a path.")
            return None
        return value

    def _text(self, holder: Json, member: str, at: str) -> str | None:
        """The plain text of a member; None, with a diagnostic, if it has none."""
        place = f"{at}/{member}"
        try:
            resolved = resolve_text(holder.get(member), self._value_at)
        except NotText:
            self._refuse(place, "The text must be a literal, a path to a text or number, or a format of one.")
            return None
        for each in resolved.losses:
            self._lose(place, each)
        return resolved.text


def _never_holds(condition: Any) -> bool:
    never = [NEVER["call"], NEVER["args"]]
    return condition is False or (is_object(condition) and [condition.get("call"), condition.get("args")] == never)


def _event_name(component: Json) -> str | None:
    action = component.get("action")
    event: Any = action.get("event") if is_object(action) else None
    name = event.get("name") if is_object(event) else None
    return name if isinstance(name, str) and component["component"] == "Button" else None


def _calls_out(component: Json) -> bool:
    """surf-44: whether anything in a component would run a function with an effect, or open an address."""
    return any("functionCall" in each or each.get("call") == "openUrl" for each in _objects(component))


def _objects(value: Any) -> Iterator[Json]:
    level: list[Any] = [value]
    while level:
        each = level.pop()
        if is_object(each):
            yield each
            level += each.values()
        elif is_array(each):
            level += each
