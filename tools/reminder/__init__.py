"""The tools that set, list and delete reminders."""

from tools.reminder.reminder import delete_reminder, list_reminders, reminder_tools

__all__ = ["delete_reminder", "list_reminders", "reminder_tools"]
